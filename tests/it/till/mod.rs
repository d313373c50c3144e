//! The till: payments without an address that is told of them, and the screen on a shop's counter.

mod without_address;
