//! Which addresses belong to the public internet, and which to this machine, its networks or its cloud.
//!
//! A program that fetches what a model names must not reach services that trust the network they are asked from. Pure.
//! The ranges are those of IANA's special-purpose registries. Called by whatever connects to a host that the user did
//! not name in the settings.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names that clouds give to the service which hands out a machine's credentials.
const METADATA_HOSTS: [&str; 6] = [
    "metadata",
    "metadata.internal",
    "metadata.google.internal",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Top-level names that are never public.
const LOCAL_NAMES: [&str; 6] = ["localhost", "local", "internal", "lan", "home", "localdomain"];

/// Returns the kind of a name that is never a public host, without a lookup.
pub fn why_name_is_not_public(host: &str) -> Option<&'static str> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if METADATA_HOSTS.contains(&host.as_str()) {
        return Some("a metadata service");
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    LOCAL_NAMES.contains(&last).then_some("a name of this machine or its network")
}

/// Says what an address belongs to if that is not the public internet.
pub fn why_not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, d] = address.octets();
    if (a, b, c, d) == (168, 63, 129, 16) {
        return Some("a cloud's service for its machines");
    }
    Some(match (a, b, c) {
        (0, ..) => "an unspecified address",
        (127, ..) => "this machine",
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => "a private network",
        (169, 254, _) => "a link-local address, which clouds use for credentials",
        (100, 64..=127, _) => "a network behind carrier-grade NAT",
        (192, 0, 0) | (198, 18 | 19, _) | (192, 88, 99) => "a reserved range",
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => "a range for documentation",
        (224..=239, ..) => "a multicast address",
        (240..=255, ..) => "a reserved range",
        _ => return None,
    })
}

fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(inner) = address.to_ipv4_mapped() {
        return not_public_v4(inner);
    }
    let parts = address.segments();
    let [.., high, low] = parts;
    let inner = || Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    Some(match parts {
        [0, 0, 0, 0, 0, 0, 0, 0] => "an unspecified address",
        [0, 0, 0, 0, 0, 0, 0, 1] => "this machine",
        // Translated to IPv4 by the network.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => return not_public_v4(inner()),
        [0, 0, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] | [0x100, 0, 0, 0, ..] => "a reserved range",
        [0x2002, high, low, ..] => {
            return not_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
        }
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => "a range for documentation",
        [0x2001, 0..=0x01ff, ..] => "a reserved range",
        [0xfc00..=0xfdff, ..] => "a private network",
        [0xfe80..=0xfeff, ..] => "a link-local address",
        [0xff00..=0xffff, ..] => "a multicast address",
        [0x2000..=0x3fff, ..] => return None,
        _ => "a reserved range",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_internet_is_public() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.167.1.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::1",
        ];
        for text in public {
            assert_eq!(why_not_public(text.parse().unwrap()), None, "{text}");
        }
        let others = [
            ("0.0.0.0", "unspecified"),
            ("0.1.2.3", "unspecified"),
            ("127.0.0.1", "this machine"),
            ("127.255.0.1", "this machine"),
            ("10.1.2.3", "private"),
            ("172.16.0.1", "private"),
            ("172.31.255.255", "private"),
            ("192.168.0.1", "private"),
            ("169.254.169.254", "link-local"),
            ("100.64.0.1", "carrier"),
            ("100.127.255.255", "carrier"),
            ("192.0.0.8", "reserved"),
            ("198.18.0.1", "reserved"),
            ("198.19.255.1", "reserved"),
            ("192.0.2.1", "documentation"),
            ("203.0.113.9", "documentation"),
            ("168.63.129.16", "cloud"),
            ("224.0.0.1", "multicast"),
            ("240.0.0.1", "reserved"),
            ("255.255.255.255", "reserved"),
            ("::", "unspecified"),
            ("::1", "this machine"),
            ("::ffff:127.0.0.1", "this machine"),
            ("::ffff:10.0.0.1", "private"),
            ("::127.0.0.1", "reserved"),
            ("64:ff9b::7f00:1", "this machine"),
            ("64:ff9b:1::1", "reserved"),
            ("2002:7f00:1::1", "this machine"),
            ("2002:a00:1::1", "private"),
            ("2001::1", "reserved"),
            ("2001:db8::1", "documentation"),
            ("fc00::1", "private"),
            ("fd12::1", "private"),
            ("fe80::1", "link-local"),
            ("fec0::1", "link-local"),
            ("ff02::1", "multicast"),
            ("4000::1", "reserved"),
        ];
        for (text, why) in others {
            let said = why_not_public(text.parse().unwrap()).unwrap_or("public");
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn local_names_are_known_without_asking() {
        for host in
            ["localhost", "LOCALHOST.", "a.localhost", "printer.local", "metadata.google.internal", "x.lan"]
        {
            assert!(why_name_is_not_public(host).is_some(), "{host}");
        }
        for host in ["example.com", "localhost.example.com", "docs.rs.", "internal.example"] {
            assert_eq!(why_name_is_not_public(host), None, "{host}");
        }
    }
}
