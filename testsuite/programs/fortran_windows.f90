! ranks: 1 2 3
! Windows of shared memory from Fortran: the base as a C pointer, attributes as integers of the
! width of an address (MPI-5.0 §12.2.3, §12.2.6).
program fortran_windows
    use mpi_f08
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    implicit none
    integer, parameter :: cells = 100
    integer :: rank, ranks, other, unit, i, failures, total
    integer(kind=MPI_ADDRESS_KIND) :: bytes, found
    logical :: flag
    type(MPI_Win) :: win
    type(c_ptr) :: base, theirs
    integer, pointer :: mine(:), its(:)

    failures = 0
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    bytes = 4 * cells
    call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, mine, [cells])
    call MPI_Win_fence(0, win)
    do i = 1, cells
        mine(i) = 1000 * rank + i
    end do
    call MPI_Win_fence(0, win)
    do other = 0, ranks - 1
        call MPI_Win_shared_query(win, other, bytes, unit, theirs)
        call expect(bytes == 4 * cells .and. unit == 4, 'what the part is')
        call c_f_pointer(theirs, its, [cells])
        do i = 1, cells
            call expect(its(i) == 1000 * other + i, 'what the other stored')
        end do
    end do
    call MPI_Win_fence(0, win)
    found = -1
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, found, flag)
    call expect(flag .and. found == 4 * cells, 'the size')
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, found, flag)
    call expect(flag .and. found == 4, 'the displacement unit')
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, found, flag)
    call expect(flag .and. found == MPI_WIN_FLAVOR_SHARED, 'the flavor')
    call MPI_Win_get_attr(win, MPI_WIN_MODEL, found, flag)
    call expect(flag .and. found == MPI_WIN_UNIFIED, 'the model')
    call MPI_Win_get_attr(win, MPI_WIN_BASE, found, flag)
    call expect(flag .and. found == transfer(base, found), 'the base')
    call MPI_Win_free(win)
    call expect(win == MPI_WIN_NULL, 'the handle is null')
    call MPI_Reduce(failures, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0 .and. total == 0) print '(a)', 'ok'
    call MPI_Finalize()
    if (failures > 0) error stop 1

contains

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(*), intent(in) :: what
        if (holds) return
        failures = failures + 1
        if (failures < 10) print '(a,i0,2a)', 'rank ', rank, ': ', what
    end subroutine
end program
