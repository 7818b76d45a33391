//! SHA-1, by which a model says what the file of its constants has to be.

/// The digest of bytes, as hexadecimal digits.
pub(crate) fn sha1(bytes: &[u8]) -> String {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let whole = bytes.chunks_exact(64);
    let mut last = whole.remainder().to_vec();
    whole.for_each(|block| mix(&mut state, block));
    last.push(0x80);
    while last.len() % 64 != 56 {
        last.push(0);
    }
    last.extend((bytes.len() as u64 * 8).to_be_bytes());
    last.chunks_exact(64).for_each(|block| mix(&mut state, block));
    state.iter().fold(String::new(), |digits, word| digits + &format!("{word:08x}"))
}

fn mix(state: &mut [u32; 5], block: &[u8]) {
    let mut words = [0u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for n in 16..80 {
        words[n] = (words[n - 3] ^ words[n - 8] ^ words[n - 14] ^ words[n - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (n, word) in words.into_iter().enumerate() {
        let (chosen, constant) = match n / 20 {
            0 => (b & c | !b & d, 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => (b & c | b & d | c & d, 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6_u32),
        };
        let next = a.rotate_left(5).wrapping_add(chosen).wrapping_add(e).wrapping_add(constant).wrapping_add(word);
        (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
    }
    for (own, more) in state.iter_mut().zip([a, b, c, d, e]) {
        *own = own.wrapping_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::sha1;

    /// FIPS 180-1, and what `hashlib` gives for lengths about a block's.
    #[test]
    fn digests_are_those_of_the_standard() {
        assert_eq!(sha1(b""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(sha1(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(sha1(long), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
        assert_eq!(sha1(&vec![b'a'; 1_000_000]), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
        assert_eq!(sha1(&[7; 64]), SIXTY_FOUR);
    }
    const SIXTY_FOUR: &str = "6b4d5b862bba704d0fafe932e3f334c5f1bb7128";
}
