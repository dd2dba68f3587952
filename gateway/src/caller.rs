//! What every stop of the path may know of a request's caller: the verified principal, the key of
//! its session, where the request came from, and when it arrived and was authenticated.
//!
//! Below the path, so that no stop depends on an earlier one. Only `auth` builds a [`Principal`]
//! (`PrincipalFacts` is named nowhere else: the tidy test checks it), and only `session` chooses a
//! [`SessionKey`].

use std::{net::IpAddr, time::SystemTime};

pub(crate) use access::{CallerAccess, CallerAtHosts};
pub(crate) use agent::Agent;
pub(crate) use principal::{Principal, PrincipalFacts, SCOPES};
pub(crate) use session_key::SessionKey;

mod access;
mod agent;
mod principal;
mod session_key;

/// When a request arrived; an extension of the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivedAt(pub(crate) SystemTime);

/// When a request's credential was verified; an extension of the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuthenticatedAt(pub(crate) SystemTime);

/// The address of a request's client, behind trusted proxies; an extension of the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);
