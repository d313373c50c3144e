//! Who is paid: businesses with their keys and websites, and the bank accounts that money comes to.

pub mod accounts;
pub mod businesses;
pub mod keys;
pub mod names;
pub mod prove_website;
pub mod set_up;
pub mod test_bank;
pub mod waiting;
pub mod websites;
