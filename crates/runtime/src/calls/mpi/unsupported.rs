//! Functions of MPI that are not supported: a rank that calls one goes no further, and the search is incomplete.

use super::call::{Answer, Call, mpi};

fn refuse(call: &Call) -> Answer {
    call.unsupported("")
}

mpi! {
    MPI_Accumulate => refuse;
    MPI_Cancel => refuse;
    MPI_Cart_map => refuse;
    MPI_Comm_accept => refuse;
    MPI_Comm_connect => refuse;
    MPI_Comm_create_errhandler => refuse;
    MPI_Comm_create_group => refuse;
    MPI_Comm_get_info => refuse;
    MPI_Comm_get_name => refuse;
    MPI_Comm_get_parent => refuse;
    MPI_Comm_idup => refuse;
    MPI_Comm_remote_group => refuse;
    MPI_Comm_set_info => refuse;
    MPI_Comm_spawn => refuse;
    MPI_Compare_and_swap => refuse;
    MPI_Dist_graph_create => refuse;
    MPI_Dist_graph_create_adjacent => refuse;
    MPI_Dist_graph_neighbors => refuse;
    MPI_Errhandler_create => refuse;
    MPI_Fetch_and_op => refuse;
    MPI_File_close => refuse;
    MPI_File_open => refuse;
    MPI_File_read => refuse;
    MPI_File_read_all => refuse;
    MPI_File_read_at => refuse;
    MPI_File_seek => refuse;
    MPI_File_set_view => refuse;
    MPI_File_write => refuse;
    MPI_File_write_all => refuse;
    MPI_File_write_at => refuse;
    MPI_Get => refuse;
    MPI_Get_accumulate => refuse;
    MPI_Graph_create => refuse;
    MPI_Graph_neighbors => refuse;
    MPI_Grequest_start => refuse;
    MPI_Iallgatherv => refuse;
    MPI_Ialltoallv => refuse;
    MPI_Igatherv => refuse;
    MPI_Improbe => refuse;
    MPI_Imrecv => refuse;
    MPI_Info_create => refuse;
    MPI_Info_free => refuse;
    MPI_Info_set => refuse;
    MPI_Intercomm_create => refuse;
    MPI_Intercomm_merge => refuse;
    MPI_Ireduce_scatter => refuse;
    MPI_Ireduce_scatter_block => refuse;
    MPI_Iscatterv => refuse;
    MPI_Mprobe => refuse;
    MPI_Mrecv => refuse;
    MPI_Neighbor_allgather => refuse;
    MPI_Neighbor_alltoall => refuse;
    MPI_Pcontrol => refuse;
    MPI_Put => refuse;
    MPI_Type_create_darray => refuse;
    MPI_Type_create_subarray => refuse;
    MPI_Type_get_contents => refuse;
    MPI_Type_get_envelope => refuse;
    MPI_Win_allocate => refuse;
    MPI_Win_complete => refuse;
    MPI_Win_create => refuse;
    MPI_Win_fence => refuse;
    MPI_Win_flush => refuse;
    MPI_Win_free => refuse;
    MPI_Win_lock => refuse;
    MPI_Win_lock_all => refuse;
    MPI_Win_post => refuse;
    MPI_Win_start => refuse;
    MPI_Win_test => refuse;
    MPI_Win_unlock => refuse;
    MPI_Win_unlock_all => refuse;
    MPI_Win_wait => refuse;
}
