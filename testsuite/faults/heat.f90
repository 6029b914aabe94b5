! Writes where no memory is, in a procedure of a module.
module heat
    use mpi
    implicit none
contains
    subroutine step(u, at)
        real(8), intent(inout) :: u(:)
        integer(8), intent(in) :: at
        u(at) = 1
    end subroutine step
end module heat

program diffusion
    use heat
    real(8) :: u(10)
    integer :: ierror
    integer(8) :: far
    call MPI_Init(ierror)
    far = -(2_8 ** 38)
    call step(u, far)
    print *, u(1)
    call MPI_Finalize(ierror)
end program diffusion
