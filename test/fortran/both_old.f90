! SPDX-License-Identifier: BSD-3-Clause
! See both.f90.
subroutine oldest_half(request)
  implicit none
  include 'mpif.h'
  integer :: request, code, requests(1)
  call MPI_WAIT(request, MPI_STATUS_IGNORE, code)
  requests = MPI_REQUEST_NULL
  call MPI_WAITALL(1, requests, MPI_STATUSES_IGNORE, code)
end subroutine
