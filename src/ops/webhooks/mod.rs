//! Webhooks: their bodies, where they go, and what people do about failed ones.

pub mod body;
pub mod browse;
pub mod deliveries;
pub mod post;
pub mod target;
pub mod test_event;
