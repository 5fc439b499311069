// The luck of a run: numpy's default generator (SeedSequence and PCG64), so that a seed means the same on the page
// as in `vbmle.simulate`. Sources: numpy/random/bit_generator.pyx and O'Neill's PCG.

const WORD = 0xffffffffn, LONG = (1n << 64n) - 1n, WIDE = (1n << 128n) - 1n;
const STEP = 0x2360ed051fc65da44385df649fccf645n; // PCG's 128-bit multiplier

/** A whole number as its 32-bit words, the lowest first; 0 is one word. */
function words(number) {
  const found = [];
  for (let rest = BigInt(number); rest > 0n; rest >>= 32n) found.push(Number(rest & WORD));
  return found.length ? found : [0];
}

/** Eight 32-bit words from any whole numbers: SeedSequence(entropy).generate_state(4, uint64). */
function seedWords(entropy) {
  const given = entropy.flatMap(words), pool = new Uint32Array(4);
  let hash = 0x43b0d7e5;
  const mixIn = (value) => {
    value = (value ^ hash) >>> 0;
    hash = Math.imul(hash, 0x931e8875) >>> 0;
    value = Math.imul(value, hash) >>> 0;
    return (value ^ (value >>> 16)) >>> 0;
  };
  const mix = (x, y) => {
    const value = (Math.imul(x, 0xca01f9dd) - Math.imul(y, 0x4973f715)) >>> 0;
    return (value ^ (value >>> 16)) >>> 0;
  };
  for (let i = 0; i < 4; i++) pool[i] = mixIn(given[i] ?? 0);
  for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) if (i !== j) pool[j] = mix(pool[j], mixIn(pool[i]));
  for (let i = 4; i < given.length; i++) for (let j = 0; j < 4; j++) pool[j] = mix(pool[j], mixIn(given[i]));
  let out = 0x8b51f9dd;
  return Array.from({ length: 8 }, (_, i) => {
    let value = (pool[i % 4] ^ out) >>> 0;
    out = Math.imul(out, 0x58f38ded) >>> 0;
    value = Math.imul(value, out) >>> 0;
    return (value ^ (value >>> 16)) >>> 0;
  });
}

/** Uniform numbers in [0, 1): np.random.default_rng(entropy).random(), one after the other. */
class Luck {
  constructor(...entropy) {
    const w = seedWords(entropy).map(BigInt);
    const long = (i) => w[2 * i] | (w[2 * i + 1] << 32n);
    this.increment = ((((long(2) << 64n) | long(3)) << 1n) | 1n) & WIDE;
    this.state = 0n;
    this.advance();
    this.state = (this.state + ((long(0) << 64n) | long(1))) & WIDE;
    this.advance();
  }
  advance() {
    this.state = (this.state * STEP + this.increment) & WIDE;
  }
  next() {
    this.advance();
    const folded = (this.state >> 64n) ^ (this.state & LONG), turn = this.state >> 122n;
    const value = ((folded >> turn) | (folded << (64n - turn))) & LONG;
    return Number(value >> 11n) / 9007199254740992;
  }
}
