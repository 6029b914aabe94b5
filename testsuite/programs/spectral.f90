! ranks: 1 2 3 4 6
! The shallow-water equations on the rotating sphere by the spectral transform method, with the
! communication pattern of such codes on a two-dimensional grid of processes: longitudes and
! latitudes are distributed; for the Fourier transforms the rows of processes transpose lines of
! longitude, and the Legendre sums over latitudes are added up along the columns. Our own program,
! written from the equations; it takes the place of PSTSWM, whose sources are not to be had.
!
! Checked: a steady flow, tilted against the axis, stays as it is; mass and energy are kept in a
! flow that changes; and that flow is the same on all processes as on each process by itself.
module grids
  use mpi_f08
  implicit none
  integer, parameter :: dp = kind(1d0)
  integer, parameter :: truncation = 21, longitudes = 64, latitudes = 32
  real(dp), parameter :: pi = 3.14159265358979323846_dp
  real(dp), parameter :: radius = 6.37122e6_dp, rotation = 7.292e-5_dp

  ! A process's part: its row shares latitudes, its column shares longitudes and wave numbers.
  type part
    type(MPI_Comm) :: all, row, column
    integer :: rows, columns, row_rank, column_rank
    integer :: lon_first, lon_count, lat_first, lat_count, wave_first, wave_count
    real(dp), allocatable :: mu(:), weight(:)
    ! Legendre functions and (1 - mu^2) times their derivatives, by degree, wave number, latitude.
    real(dp), allocatable :: p(:, :, :), h(:, :, :)
  end type part

contains

  ! The share of `total` things that number `rank` of `ranks` has: the first one, from 0, and how many.
  subroutine share(total, ranks, rank, first, count)
    integer, intent(in) :: total, ranks, rank
    integer, intent(out) :: first, count
    first = total * rank / ranks
    count = total * (rank + 1) / ranks - first
  end subroutine share

  subroutine make_part(comm, it)
    type(MPI_Comm), intent(in) :: comm
    type(part), intent(out) :: it
    integer :: rank, size, j
    real(dp) :: nodes(latitudes), weights(latitudes)
    it%all = comm
    call MPI_Comm_size(comm, size)
    call MPI_Comm_rank(comm, rank)
    ! The nearest to a square, with more rows than columns.
    it%columns = int(sqrt(size + 0.5))
    do while (mod(size, it%columns) /= 0)
      it%columns = it%columns - 1
    end do
    it%rows = size / it%columns
    call MPI_Comm_split(comm, rank / it%columns, rank, it%row)
    call MPI_Comm_split(comm, mod(rank, it%columns), rank, it%column)
    call MPI_Comm_rank(it%row, it%row_rank)
    call MPI_Comm_rank(it%column, it%column_rank)
    call share(longitudes, it%columns, it%row_rank, it%lon_first, it%lon_count)
    call share(latitudes, it%rows, it%column_rank, it%lat_first, it%lat_count)
    call share(truncation + 1, it%columns, it%row_rank, it%wave_first, it%wave_count)
    call gauss(nodes, weights)
    allocate (it%mu(it%lat_count), it%weight(it%lat_count))
    it%mu = nodes(it%lat_first + 1:it%lat_first + it%lat_count)
    it%weight = weights(it%lat_first + 1:it%lat_first + it%lat_count)
    allocate (it%p(0:truncation, it%wave_count, it%lat_count))
    allocate (it%h(0:truncation, it%wave_count, it%lat_count))
    do j = 1, it%lat_count
      call legendre(it%mu(j), it%wave_first, it%wave_count, it%p(:, :, j), it%h(:, :, j))
    end do
  end subroutine make_part

  subroutine free_part(it)
    type(part), intent(inout) :: it
    call MPI_Comm_free(it%row)
    call MPI_Comm_free(it%column)
  end subroutine free_part

  ! Gaussian latitudes: the zeros of a Legendre polynomial by Newton's method.
  subroutine gauss(nodes, weights)
    real(dp), intent(out) :: nodes(:), weights(:)
    real(dp) :: x, step, before, here, next, slope
    integer :: i, k, n
    n = size(nodes)
    do i = 1, n
      x = -cos(pi * (i - 0.25_dp) / (n + 0.5_dp))
      step = 1
      do while (abs(step) > 1e-15_dp)
        before = 1
        here = x
        do k = 2, n
          next = ((2 * k - 1) * x * here - (k - 1) * before) / k
          before = here
          here = next
        end do
        slope = n * (x * here - before) / (x * x - 1)
        step = here / slope
        x = x - step
      end do
      nodes(i) = x
      weights(i) = 2 / ((1 - x * x) * slope * slope)
    end do
  end subroutine gauss

  pure real(dp) function epsilon_of(n, m)
    integer, intent(in) :: n, m
    epsilon_of = sqrt((real(n, dp)**2 - real(m, dp)**2) / (4 * real(n, dp)**2 - 1))
  end function epsilon_of

  ! Normalised associated Legendre functions at one latitude, for `count` wave numbers.
  subroutine legendre(mu, first, count, p, h)
    real(dp), intent(in) :: mu
    integer, intent(in) :: first, count
    real(dp), intent(out) :: p(0:, :), h(0:, :)
    real(dp) :: column(-1:truncation + 2), start
    integer :: m, n, at
    p = 0
    h = 0
    start = sqrt(0.5_dp)
    do m = 0, first + count - 1
      if (m > 0) start = start * sqrt((2 * m + 1) / (2d0 * m)) * sqrt(1 - mu * mu)
      if (m < first) cycle
      at = m - first + 1
      column = 0
      column(m) = start
      do n = m, truncation + 1
        column(n + 1) = (mu * column(n) - epsilon_of(n, m) * column(n - 1)) / epsilon_of(n + 1, m)
      end do
      do n = m, truncation
        p(n, at) = column(n)
        h(n, at) = (n + 1) * epsilon_of(n, m) * column(n - 1) - n * epsilon_of(n + 1, m) * column(n + 1)
      end do
    end do
  end subroutine legendre
end module grids

module transforms
  use grids
  implicit none
contains

  ! In place, of a power of two; `direction` is the sign in the exponent.
  recursive subroutine fft(x, direction)
    complex(dp), intent(inout) :: x(0:)
    integer, intent(in) :: direction
    complex(dp) :: even(0:size(x) / 2 - 1), odd(0:size(x) / 2 - 1), turned
    integer :: k, half
    half = size(x) / 2
    if (half == 0) return
    even = x(0::2)
    odd = x(1::2)
    call fft(even, direction)
    call fft(odd, direction)
    do k = 0, half - 1
      turned = odd(k) * exp(cmplx(0, direction * pi * k / half, dp))
      x(k) = even(k) + turned
      x(k + half) = even(k) - turned
    end do
  end subroutine fft

  ! Counts and displacements of a transposition between `points` and `lines` along a row of
  ! processes: what this one has of its own points for the lines of each other one, and back.
  subroutine pattern(it, points, lines, here, there, at_here, at_there, my_lines)
    type(part), intent(in) :: it
    integer, intent(in) :: points, lines
    integer, intent(out) :: here(:), there(:), at_here(:), at_there(:), my_lines
    integer :: q, first, own_points, theirs, ignored
    call share(points, it%columns, it%row_rank, ignored, own_points)
    call share(lines, it%columns, it%row_rank, ignored, my_lines)
    do q = 1, it%columns
      call share(lines, it%columns, q - 1, first, theirs)
      here(q) = own_points * theirs
      at_here(q) = own_points * first
      call share(points, it%columns, q - 1, first, theirs)
      there(q) = theirs * my_lines
      at_there(q) = first * my_lines
    end do
  end subroutine pattern

  ! From (own points, all lines) to (all points, own lines).
  subroutine gather_lines(it, points, mine, whole)
    type(part), intent(in) :: it
    integer, intent(in) :: points
    complex(dp), intent(in) :: mine(:, :)
    complex(dp), allocatable, intent(out) :: whole(:, :)
    integer, dimension(it%columns) :: here, there, at_here, at_there
    complex(dp), allocatable :: packed(:)
    integer :: lines, q, first, count
    call pattern(it, points, size(mine, 2), here, there, at_here, at_there, lines)
    allocate (packed(points * lines), whole(points, lines))
    call MPI_Alltoallv(mine, here, at_here, MPI_DOUBLE_COMPLEX, packed, there, at_there, &
        MPI_DOUBLE_COMPLEX, it%row)
    do q = 1, it%columns
      call share(points, it%columns, q - 1, first, count)
      whole(first + 1:first + count, :) = &
          reshape(packed(at_there(q) + 1:at_there(q) + there(q)), [count, lines])
    end do
  end subroutine gather_lines

  ! The other way.
  subroutine scatter_lines(it, points, whole, mine)
    type(part), intent(in) :: it
    integer, intent(in) :: points
    complex(dp), intent(in) :: whole(:, :)
    complex(dp), intent(out) :: mine(:, :)
    integer, dimension(it%columns) :: here, there, at_here, at_there
    complex(dp), allocatable :: packed(:)
    integer :: lines, q, first, count
    call pattern(it, points, size(mine, 2), here, there, at_here, at_there, lines)
    allocate (packed(points * lines))
    do q = 1, it%columns
      call share(points, it%columns, q - 1, first, count)
      packed(at_there(q) + 1:at_there(q) + there(q)) = &
          reshape(whole(first + 1:first + count, :), [count * lines])
    end do
    call MPI_Alltoallv(packed, there, at_there, MPI_DOUBLE_COMPLEX, mine, here, at_here, &
        MPI_DOUBLE_COMPLEX, it%row)
  end subroutine scatter_lines

  ! Grid values (own longitudes, own latitudes, fields) to Fourier coefficients (own wave numbers, …).
  subroutine analyse_longitudes(it, grid, waves)
    type(part), intent(in) :: it
    real(dp), intent(in) :: grid(:, :, :)
    complex(dp), intent(out) :: waves(:, :, :)
    complex(dp), allocatable :: whole(:, :)
    complex(dp) :: mine(it%lon_count, size(grid, 2) * size(grid, 3))
    complex(dp) :: back(it%wave_count, size(grid, 2) * size(grid, 3))
    integer :: line
    mine = reshape(cmplx(grid, 0, dp), shape(mine))
    call gather_lines(it, longitudes, mine, whole)
    do line = 1, size(whole, 2)
      call fft(whole(:, line), -1)
    end do
    call scatter_lines(it, truncation + 1, whole(1:truncation + 1, :) / longitudes, back)
    waves = reshape(back, shape(waves))
  end subroutine analyse_longitudes

  ! The other way.
  subroutine synthesise_longitudes(it, waves, grid)
    type(part), intent(in) :: it
    complex(dp), intent(in) :: waves(:, :, :)
    real(dp), intent(out) :: grid(:, :, :)
    complex(dp), allocatable :: some(:, :), whole(:, :)
    complex(dp) :: mine(it%lon_count, size(grid, 2) * size(grid, 3))
    integer :: line, m
    call gather_lines(it, truncation + 1, reshape(waves, [it%wave_count, size(mine, 2)]), some)
    allocate (whole(longitudes, size(some, 2)))
    whole = 0
    whole(1:truncation + 1, :) = some
    do m = 1, truncation
      whole(longitudes - m + 1, :) = conjg(some(m + 1, :))
    end do
    do line = 1, size(whole, 2)
      call fft(whole(:, line), 1)
    end do
    call scatter_lines(it, longitudes, whole, mine)
    grid = reshape(real(mine, dp), shape(grid))
  end subroutine synthesise_longitudes

  ! Adds up the shares that the latitudes of a column of processes have in Legendre sums.
  subroutine add_up(it, sums)
    type(part), intent(in) :: it
    complex(dp), intent(inout) :: sums(:, :, :)
    call MPI_Allreduce(MPI_IN_PLACE, sums, size(sums), MPI_DOUBLE_COMPLEX, MPI_SUM, it%column)
  end subroutine add_up
end module transforms

module model
  use transforms
  implicit none
  ! The state: vorticity, divergence and geopotential, by degree, own wave number.
  integer, parameter :: zeta = 1, delta = 2, phi = 3
  real(dp), parameter :: speed = 2 * pi * radius / (12 * 86400d0), level = 2.94e4_dp, tilt = 0.7_dp
contains

  ! The sine of the latitude as seen from the tilted axis, on the grid.
  subroutine tilted(it, sine)
    type(part), intent(in) :: it
    real(dp), intent(out) :: sine(:, :)
    integer :: i, j
    real(dp) :: lon
    do j = 1, it%lat_count
      do i = 1, it%lon_count
        lon = 2 * pi * (it%lon_first + i - 1) / longitudes
        sine(i, j) = it%mu(j) * cos(tilt) - cos(lon) * sqrt(1 - it%mu(j)**2) * sin(tilt)
      end do
    end do
  end subroutine tilted

  ! Vorticity, wind times the cosine of latitude, and geopotential on the grid.
  subroutine to_grid(it, state, grid)
    type(part), intent(in) :: it
    complex(dp), intent(in) :: state(0:, :, :)
    real(dp), intent(out) :: grid(:, :, :)
    complex(dp) :: waves(it%wave_count, it%lat_count, 4), psi(0:truncation), chi(0:truncation), im
    real(dp) :: inverse(0:truncation)
    integer :: k, j, n
    inverse(0) = 0
    inverse(1:) = [(-radius**2 / (n * (n + 1d0)), n = 1, truncation)]
    do k = 1, it%wave_count
      im = cmplx(0, it%wave_first + k - 1, dp)
      psi = state(:, k, zeta) * inverse
      chi = state(:, k, delta) * inverse
      do j = 1, it%lat_count
        waves(k, j, 1) = sum(state(:, k, zeta) * it%p(:, k, j))
        waves(k, j, 2) = sum(im * chi * it%p(:, k, j) - psi * it%h(:, k, j)) / radius
        waves(k, j, 3) = sum(im * psi * it%p(:, k, j) + chi * it%h(:, k, j)) / radius
        waves(k, j, 4) = sum(state(:, k, phi) * it%p(:, k, j))
      end do
    end do
    call synthesise_longitudes(it, waves, grid)
  end subroutine to_grid

  ! Spectral coefficients of grid fields.
  subroutine to_spectrum(it, grid, state)
    type(part), intent(in) :: it
    real(dp), intent(in) :: grid(:, :, :)
    complex(dp), intent(out) :: state(0:, :, :)
    complex(dp) :: waves(it%wave_count, it%lat_count, size(grid, 3))
    integer :: field, k, j
    call analyse_longitudes(it, grid, waves)
    state = 0
    do field = 1, size(grid, 3)
      do k = 1, it%wave_count
        do j = 1, it%lat_count
          state(:, k, field) = state(:, k, field) + it%weight(j) * waves(k, j, field) * it%p(:, k, j)
        end do
      end do
    end do
    call add_up(it, state)
  end subroutine to_spectrum

  subroutine tendency(it, coriolis, state, change)
    type(part), intent(in) :: it
    real(dp), intent(in) :: coriolis(:, :)
    complex(dp), intent(in) :: state(0:, :, :)
    complex(dp), intent(out) :: change(0:, :, :)
    real(dp), dimension(it%lon_count, it%lat_count, 5) :: products
    real(dp), dimension(it%lon_count, it%lat_count, 4) :: grid
    complex(dp) :: waves(it%wave_count, it%lat_count, 5), im, a, b, c, d
    real(dp) :: factor
    integer :: j, k, n
    call to_grid(it, state, grid)
    products(:, :, 1) = grid(:, :, 2) * (grid(:, :, 1) + coriolis)
    products(:, :, 2) = grid(:, :, 3) * (grid(:, :, 1) + coriolis)
    products(:, :, 3) = grid(:, :, 2) * grid(:, :, 4)
    products(:, :, 4) = grid(:, :, 3) * grid(:, :, 4)
    do j = 1, it%lat_count
      products(:, j, 5) = grid(:, j, 4) + (grid(:, j, 2)**2 + grid(:, j, 3)**2) / (2 * (1 - it%mu(j)**2))
    end do
    call analyse_longitudes(it, products, waves)
    change = 0
    do k = 1, it%wave_count
      im = cmplx(0, it%wave_first + k - 1, dp)
      do j = 1, it%lat_count
        factor = it%weight(j) / (radius * (1 - it%mu(j)**2))
        a = factor * waves(k, j, 1)
        b = factor * waves(k, j, 2)
        c = factor * waves(k, j, 3)
        d = factor * waves(k, j, 4)
        change(:, k, zeta) = change(:, k, zeta) - im * a * it%p(:, k, j) + b * it%h(:, k, j)
        change(:, k, delta) = change(:, k, delta) + im * b * it%p(:, k, j) + a * it%h(:, k, j) &
            + [(n * (n + 1) / radius**2, n = 0, truncation)] * it%weight(j) * waves(k, j, 5) * it%p(:, k, j)
        change(:, k, phi) = change(:, k, phi) - im * c * it%p(:, k, j) + d * it%h(:, k, j)
      end do
    end do
    call add_up(it, change)
  end subroutine tendency

  ! Runge and Kutta's method of fourth order.
  subroutine advance(it, coriolis, state, step, steps)
    type(part), intent(in) :: it
    real(dp), intent(in) :: coriolis(:, :), step
    complex(dp), intent(inout) :: state(0:, :, :)
    integer, intent(in) :: steps
    complex(dp), dimension(0:truncation, it%wave_count, 3) :: k1, k2, k3, k4
    integer :: i
    do i = 1, steps
      call tendency(it, coriolis, state, k1)
      call tendency(it, coriolis, state + step / 2 * k1, k2)
      call tendency(it, coriolis, state + step / 2 * k2, k3)
      call tendency(it, coriolis, state + step * k3, k4)
      state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    end do
  end subroutine advance

  ! A steady flow around the tilted axis, and a wave in the geopotential of the given height.
  subroutine start(it, wave, coriolis, state)
    type(part), intent(in) :: it
    real(dp), intent(in) :: wave
    real(dp), intent(out) :: coriolis(:, :)
    complex(dp), intent(out) :: state(0:, :, :)
    real(dp), dimension(it%lon_count, it%lat_count, 3) :: grid
    integer :: i, j
    call tilted(it, coriolis)
    grid(:, :, zeta) = 2 * speed / radius * coriolis
    grid(:, :, delta) = 0
    grid(:, :, phi) = level - (radius * rotation * speed + speed**2 / 2) * coriolis**2
    do j = 1, it%lat_count
      do i = 1, it%lon_count
        grid(i, j, phi) = grid(i, j, phi) + wave * (1 - it%mu(j)**2)**2 &
            * cos(8 * pi * (it%lon_first + i - 1) / longitudes)
      end do
    end do
    coriolis = 2 * rotation * coriolis
    call to_spectrum(it, grid, state)
  end subroutine start

  ! Kinetic and potential energy of the whole sphere.
  real(dp) function energy(it, state)
    type(part), intent(in) :: it
    complex(dp), intent(in) :: state(0:, :, :)
    real(dp), dimension(it%lon_count, it%lat_count, 4) :: grid
    integer :: j
    call to_grid(it, state, grid)
    energy = 0
    do j = 1, it%lat_count
      energy = energy + it%weight(j) * sum(grid(:, j, 4)**2 &
          + grid(:, j, 4) * (grid(:, j, 2)**2 + grid(:, j, 3)**2) / (1 - it%mu(j)**2))
    end do
    call MPI_Allreduce(MPI_IN_PLACE, energy, 1, MPI_DOUBLE_PRECISION, MPI_SUM, it%all)
  end function energy
end module model

program spectral
  use model
  implicit none
  type(part) :: world, alone
  integer :: rank, faults = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call make_part(MPI_COMM_WORLD, world)
  call make_part(MPI_COMM_SELF, alone)
  call steady_flow()
  call changing_flow()
  call free_part(alone)
  call free_part(world)
  call MPI_Finalize()
  if (rank == 0 .and. faults == 0) print '(a)', 'ok'

contains

  subroutine expect(error, bound, what)
    real(dp), intent(in) :: error, bound
    character(*), intent(in) :: what
    if (error <= bound) return
    print *, what, ': off by', error
    faults = faults + 1
  end subroutine expect

  subroutine steady_flow()
    complex(dp), dimension(0:truncation, world%wave_count, 3) :: state, first
    real(dp) :: coriolis(world%lon_count, world%lat_count), size_of(3), error(3)
    integer :: field
    call start(world, 0d0, coriolis, first)
    state = first
    call advance(world, coriolis, state, 900d0, 48)
    do field = 1, 3
      size_of(field) = maxval(abs(first(:, :, field)))
      error(field) = maxval(abs(state(:, :, field) - first(:, :, field)))
    end do
    call MPI_Allreduce(MPI_IN_PLACE, size_of, 3, MPI_DOUBLE_PRECISION, MPI_MAX, world%all)
    call MPI_Allreduce(MPI_IN_PLACE, error, 3, MPI_DOUBLE_PRECISION, MPI_MAX, world%all)
    call expect(error(zeta) / size_of(zeta), 1d-9, 'vorticity of a steady flow')
    call expect(error(delta) / size_of(zeta), 1d-9, 'divergence of a steady flow')
    call expect(error(phi) / size_of(phi), 1d-9, 'geopotential of a steady flow')
  end subroutine steady_flow

  subroutine changing_flow()
    complex(dp), dimension(0:truncation, world%wave_count, 3) :: state, first
    complex(dp), dimension(0:truncation, alone%wave_count, 3) :: whole
    real(dp) :: coriolis(world%lon_count, world%lat_count)
    real(dp) :: same(alone%lon_count, alone%lat_count), before, after
    integer :: field, last
    call start(world, 1500d0, coriolis, first)
    before = energy(world, first)
    state = first
    call advance(world, coriolis, state, 600d0, 24)
    after = energy(world, state)
    call expect(abs(after - before) / before, 1d-7, 'energy')
    if (world%wave_first == 0) then
      call expect(abs(state(0, 1, phi) - first(0, 1, phi)) / abs(first(0, 1, phi)), 1d-13, 'mass')
      call expect(-maxval(abs(state(:, :, delta))), -1d-7, 'a flow that changes')
    end if
    call start(alone, 1500d0, same, whole)
    call advance(alone, same, whole, 600d0, 24)
    last = world%wave_first + world%wave_count
    do field = 1, 3
      call expect(maxval(abs(whole(:, world%wave_first + 1:last, field) - state(:, :, field))) &
          / maxval(abs(whole(:, :, field))), 1d-10, 'the same flow alone')
    end do
  end subroutine changing_flow
end program spectral
