
/* Statuses for Fortran (MPI-5.0 19.3.5). The standard ABI leaves them to whoever knows the compiler: here an
 * INTEGER has 4 bytes, and a status is laid out alike in C, as an array of INTEGERs and in mpi_f08. Inline,
 * they ask nothing of the library but where the special statuses of Fortran are. */
typedef MPI_Status MPI_F08_status;

#ifdef __cplusplus
extern "C"
#else
extern
#endif
int ferrite_fortran[];

#define MPI_F_STATUS_IGNORE (&ferrite_fortran[6])
#define MPI_F_STATUSES_IGNORE (&ferrite_fortran[14])
#define MPI_F08_STATUS_IGNORE ((MPI_F08_status *)MPI_F_STATUS_IGNORE)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status *)MPI_F_STATUSES_IGNORE)

#if defined(__GNUC__)
#define FERRITE_INLINE static __inline__ __attribute__((__unused__))
#else
#define FERRITE_INLINE static inline
#endif

/* Nothing can be copied from a status that is ignored, nor to it. */
FERRITE_INLINE int ferrite_copy_status(const void *from, void *to) {
  const int *const none = MPI_F_STATUS_IGNORE, *const nones = MPI_F_STATUSES_IGNORE;
  if (!from || !to || from == none || from == nones || to == none || to == nones)
    return MPI_ERR_ARG;
  *(MPI_Status *)to = *(const MPI_Status *)from;
  return MPI_SUCCESS;
}

#define FERRITE_CONVERSION(name, From, To)                             \
  FERRITE_INLINE int MPI_Status_##name(const From *from, To *to) {     \
    return ferrite_copy_status(from, to);                              \
  }                                                                    \
  FERRITE_INLINE int PMPI_Status_##name(const From *from, To *to) {    \
    return ferrite_copy_status(from, to);                              \
  }

FERRITE_CONVERSION(c2f, MPI_Status, MPI_Fint)
FERRITE_CONVERSION(f2c, MPI_Fint, MPI_Status)
FERRITE_CONVERSION(c2f08, MPI_Status, MPI_F08_status)
FERRITE_CONVERSION(f082c, MPI_F08_status, MPI_Status)
FERRITE_CONVERSION(f2f08, MPI_Fint, MPI_F08_status)
FERRITE_CONVERSION(f082f, MPI_F08_status, MPI_Fint)

#undef FERRITE_CONVERSION
#undef FERRITE_INLINE
