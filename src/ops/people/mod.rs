//! People who sign in: adding and ending users, registering themselves with a business, their links, signing in, sessions, the second factor, passkeys, and the members
//! of a business. Tries of passwords and codes are counted before they are judged (`tries`).

pub mod invite;
pub mod links;
pub mod mailed;
pub mod members;
pub mod passkey_sign_in;
pub mod passkeys;
pub mod passwords;
pub mod register;
pub mod second_factor;
pub mod sent_forms;
pub mod sessions;
pub mod sign_in;
pub mod tries;
pub mod users;
