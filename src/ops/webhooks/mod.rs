//! Webhooks: the events and their bodies, where they go, how merchants read them, and what people do about failed ones.

pub mod body;
pub mod browse;
pub(in crate::ops) mod chosen;
pub mod deliveries;
pub mod event;
pub mod follow;
pub mod order;
pub mod post;
pub mod pull;
pub mod reduced;
pub mod target;
pub mod test_event;
