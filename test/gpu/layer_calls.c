// SPDX-License-Identifier: BSD-3-Clause
// The layer's functions that complete, start or free requests. What may complete is taken out of the layer's
// tables before the call, as a handle may be given out again before the call returns.
#include <stdlib.h>

#include "layer.h"

// ---- requests

// Requests of a call, and the handles that they had before it.
typedef struct several {
    int count;
    MPI_Request *handle;
    call **of;
} several;

static several take_all(int count, const MPI_Request *requests)
{
    several s = {requests && count > 0 ? count : 0, NULL, NULL};
    s.handle = malloc((size_t)s.count * sizeof(MPI_Request) + 1);
    s.of = malloc((size_t)s.count * sizeof(call *) + 1);
    for (int i = 0; i < s.count; i++) {
        s.handle[i] = requests[i];
        s.of[i] = layer_take(requests[i]);
    }
    return s;
}

static void complete_one(several *s, int i)
{
    if (i < 0 || i >= s->count)
        return;
    layer_completed(s->of[i]);
    s->of[i] = NULL;
}

static void put_back_rest(several *s)
{
    for (int i = 0; i < s->count; i++)
        layer_put_back(s->of[i]);
    free(s->of);
    free(s->handle);
}

static void complete_some(several *s, int count, const int *indices)
{
    for (int i = 0; i < count; i++)
        complete_one(s, indices[i]);
}

// After an error: an operation that failed is over, too, but a persistent request keeps its handle.
static bool is_over(MPI_Request before, MPI_Request now)
{
    int flag = now != before;
    if (!flag)
        PMPI_Request_get_status(now, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static void complete_all(several *s, int code, const MPI_Request *requests)
{
    for (int i = 0; i < s->count; i++)
        if (s->of[i] && (code == MPI_SUCCESS || is_over(s->handle[i], requests[i])))
            complete_one(s, i);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    call *c = request ? layer_take(*request) : NULL;
    int code = PMPI_Wait(request, status);
    layer_completed(c);
    layer_look_around();
    return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    call *c = request ? layer_take(*request) : NULL;
    MPI_Request before = request ? *request : MPI_REQUEST_NULL;
    int code = PMPI_Test(request, flag, status);
    if (code == MPI_SUCCESS ? *flag : c && is_over(before, *request))
        layer_completed(c);
    else
        layer_put_back(c);
    layer_look_around();
    return code;
}

int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[])
{
    several s = take_all(count, array_of_requests);
    int code = PMPI_Waitall(count, array_of_requests, array_of_statuses);
    complete_all(&s, code, array_of_requests);
    put_back_rest(&s);
    layer_look_around();
    return code;
}

int MPI_Testall(int count, MPI_Request array_of_requests[], int *flag,
                MPI_Status array_of_statuses[])
{
    several s = take_all(count, array_of_requests);
    int code = PMPI_Testall(count, array_of_requests, flag, array_of_statuses);
    if (code != MPI_SUCCESS || *flag)
        complete_all(&s, code, array_of_requests);
    put_back_rest(&s);
    layer_look_around();
    return code;
}

static void complete_any(several *s, int code, const int *index, const MPI_Request *requests)
{
    if (code == MPI_SUCCESS)
        complete_one(s, *index);
    else
        complete_all(s, code, requests);
    put_back_rest(s);
    layer_look_around();
}

int MPI_Waitany(int count, MPI_Request array_of_requests[], int *index, MPI_Status *status)
{
    several s = take_all(count, array_of_requests);
    int code = PMPI_Waitany(count, array_of_requests, index, status);
    complete_any(&s, code, index, array_of_requests);
    return code;
}

int MPI_Testany(int count, MPI_Request array_of_requests[], int *index, int *flag,
                MPI_Status *status)
{
    several s = take_all(count, array_of_requests);
    int code = PMPI_Testany(count, array_of_requests, index, flag, status);
    complete_any(&s, code, index, array_of_requests);
    return code;
}

static void complete_listed(several *s, int code, const int *count, const int *indices,
                            const MPI_Request *requests)
{
    if (code == MPI_SUCCESS)
        complete_some(s, *count, indices);
    else
        complete_all(s, code, requests);
    put_back_rest(s);
    layer_look_around();
}

int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount,
                 int array_of_indices[], MPI_Status array_of_statuses[])
{
    several s = take_all(incount, array_of_requests);
    int code =
        PMPI_Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
    complete_listed(&s, code, outcount, array_of_indices, array_of_requests);
    return code;
}

int MPI_Testsome(int incount, MPI_Request array_of_requests[], int *outcount,
                 int array_of_indices[], MPI_Status array_of_statuses[])
{
    several s = take_all(incount, array_of_requests);
    int code =
        PMPI_Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
    complete_listed(&s, code, outcount, array_of_indices, array_of_requests);
    return code;
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    int code = PMPI_Request_get_status(request, flag, status);
    if (code == MPI_SUCCESS && *flag)
        layer_peek(request);
    return code;
}

int MPI_Request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                               MPI_Status array_of_statuses[])
{
    int code = PMPI_Request_get_status_all(count, array_of_requests, flag, array_of_statuses);
    for (int i = 0; code == MPI_SUCCESS && *flag && i < count; i++)
        layer_peek(array_of_requests[i]);
    return code;
}

int MPI_Request_get_status_any(int count, const MPI_Request array_of_requests[], int *index,
                               int *flag, MPI_Status *status)
{
    int code = PMPI_Request_get_status_any(count, array_of_requests, index, flag, status);
    if (code == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED)
        layer_peek(array_of_requests[*index]);
    return code;
}

int MPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount,
                                int array_of_indices[], MPI_Status array_of_statuses[])
{
    int code = PMPI_Request_get_status_some(incount, array_of_requests, outcount, array_of_indices,
                                            array_of_statuses);
    for (int i = 0; code == MPI_SUCCESS && i < *outcount; i++)
        layer_peek(array_of_requests[array_of_indices[i]]);
    return code;
}

int MPI_Request_free(MPI_Request *request)
{
    if (request)
        layer_freed(*request);
    return PMPI_Request_free(request);
}

int MPI_Start(MPI_Request *request)
{
    if (request)
        layer_start(*request);
    return PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request array_of_requests[])
{
    for (int i = 0; array_of_requests && i < count; i++)
        layer_start(array_of_requests[i]);
    return PMPI_Startall(count, array_of_requests);
}

// ---- partitions

int MPI_Pready(int partition, MPI_Request request)
{
    layer_part_ready(request, partition);
    return PMPI_Pready(partition, request);
}

int MPI_Pready_range(int partition_low, int partition_high, MPI_Request request)
{
    for (int i = partition_low; i <= partition_high; i++)
        layer_part_ready(request, i);
    return PMPI_Pready_range(partition_low, partition_high, request);
}

int MPI_Pready_list(int length, const int array_of_partitions[], MPI_Request request)
{
    for (int i = 0; array_of_partitions && i < length; i++)
        layer_part_ready(request, array_of_partitions[i]);
    return PMPI_Pready_list(length, array_of_partitions, request);
}

int MPI_Parrived(MPI_Request request, int partition, int *flag)
{
    int code = PMPI_Parrived(request, partition, flag);
    if (code == MPI_SUCCESS && *flag)
        layer_part_arrived(request, partition);
    return code;
}
