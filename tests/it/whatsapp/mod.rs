//! Messages by WhatsApp, over real HTTP in both directions: a double of the Cloud API takes what the
//! service sends and sends signed reports to the service's own listener.

mod canary;
mod failing;
mod once;
mod reports;
mod sending;
mod unanswered;
mod webhook;
mod world;
