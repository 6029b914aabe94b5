/* What the parts of the fuzzer of MPI's procedures share: the table of procedures, which is written from the library's
   description of them; the call that is being made; numbers drawn from a seed; and the pools of handles. */
#ifndef FERRITE_FUZZ_H
#define FERRITE_FUZZ_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kinds of handles come first: they number the pools. */
enum kind {
    COMM, GROUP, DATATYPE, OP, REQUEST, ERRHANDLER, INFO, WIN, FILE_HANDLE, SESSION, MESSAGE, HANDLES,
    TOOL = HANDLES, BUFFER, ADDRESS, PLACE, INT, RANK, TAG, LOGICAL, ERROR_CODE, CONSTANT, COUNT, STATUS, TEXT,
    TEXT_OUT, TEXT_LENGTH, TEXTS, FUNCTION, WEIGHTS
};

enum way { IN, OUT, INOUT };

enum { PARAMETERS = 16, NO_LENGTH = -1, ANY_LENGTH = -2 };

struct parameter {
    const char *name;
    enum kind kind;
    enum way way;
    const char *word; /* more exactly what it is, as the description says */
    int size;         /* bytes of one value; of a text that leaves, the most it may have */
    int array;        /* values of an element if it is an array, else 0 */
    int length;       /* the parameter that says how many elements; NO_LENGTH, ANY_LENGTH */
    int is_length;    /* whether it is such a parameter */
};

struct procedure {
    const char *name;
    int returns_error; /* an error code; else whatever */
    int is_data;       /* whether it has a choice buffer */
    int parameters;
    struct parameter parameter[PARAMETERS];
};

extern const struct procedure procedures[];
extern const int procedure_count;

/* A call: what is passed, and where single handles come back. Every argument travels as a whole register. */
struct call {
    const struct procedure *procedure;
    long argument[PARAMETERS];
    int wild[PARAMETERS]; /* whether the argument is to be something odd */
    long result;
};

struct place {
    uint64_t seed, round, step;
    struct call call;
};

extern struct place here;

/* The draws of a round (SplitMix64). */
uint64_t draw(void);
int below(int n);
int once_in(int n);

/* Ends the program: what was expected is not what came. */
void complain(const char *what);

/* What is passed as `value`, and the value of `bytes` bytes at a place. */
long load(const void *from, int bytes);
void store(void *to, long value, int bytes);

/* Memory of one call, with watched bytes behind each piece. */
void *piece(size_t bytes);
void release_pieces(void);

/* Memory that data comes from and goes to, of which any address is far from both ends. */
char *data(void);

/* Handles. */
void begin_pools(void);
long pick_handle(enum kind kind, int wild);
long pick_tame_datatype(int wild);
long null_handle(enum kind kind);
long pick_keyval(const char *word, int wild);
long pick_tool(void);
void take_handle(enum kind kind, long handle);
void take_keyval(const char *word, long keyval);
void take_tool(long handle);
void lose_handle(enum kind kind, long handle);
void lose_keyval(long keyval);
void receive_sent(MPI_Comm comm, int tag);
void drain(void);
void empty_pools(void);

/* Arguments of a call, the promises that make it harmless, and what it left. */
void choose(struct call *call);
int settle(struct call *call);
void after(struct call *call);
void harvest(struct call *call);
long index_of(const struct call *call, const char *parameter);

/* The program's function of this C type. */
void *function_called(const char *type);

#endif
