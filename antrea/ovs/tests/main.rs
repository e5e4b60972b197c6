//! Against a real ovsdb-server and ovs-vswitchd, each test with its own.

#[cfg(test)]
mod database;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod learned;
#[cfg(test)]
mod openflow;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod rounds;
#[cfg(test)]
mod scale;
#[cfg(test)]
mod switch;
#[cfg(test)]
mod tunnels;
