//! OVSDB, as ovsdb-server sends it.

pub(crate) use antrea_ovs::ovsdb::follow_stream as read;
