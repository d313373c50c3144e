//! Payouts: a business asks for its money, the operator sends it through the bank, and says so. The accounts that it goes
//! to, asking and taking back, marking, lists, and what is handed to the bank.

pub mod accounts;
pub mod browse;
pub mod end;
pub mod export;
pub mod from_alert;
pub mod held;
pub mod request;
mod words;
