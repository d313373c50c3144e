//! Payments that a customer confirms with a PIN on a page, from the request to the receipt; and top-ups.

pub mod confirm;
pub mod end;
pub mod link_codes;
pub mod page;
pub mod pin_reset;
pub mod settle;
pub mod start;
pub mod topup;
