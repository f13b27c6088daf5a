/**
 * Decodes Korean text files of Windows (code page 949), which the Encoding Standard calls EUC-KR. The runtime knows only the 2,350 syllables
 * of KS X 1001, and reads the first byte of many others as a control character. The other 8,822 syllables have pairs of bytes of which one
 * is below A1, in the order of Unicode.
 */

/** The second bytes of the pairs with a first byte up to A0, and of those with a higher one. */
const trails = Buffer.from([...range(0x41, 0x5a), ...range(0x61, 0x7a), ...range(0x81, 0xfe)]);
const trailsAbove = trails.indexOf(0xa1);
const firstLead = 0x81;
const leadsBelow = 0xa1 - firstLead;

/** Signs that were added to KS X 1001 later. */
const addedSigns = new Map([
  [0xa2e6, '€'],
  [0xa2e7, '®'],
]);
const noCharacter = Buffer.of(0xff);

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

/** Returns the syllables that KS X 1001 does not have. */
function otherSyllables(): string[] {
  const pairs = range(0xb0, 0xc8).flatMap((lead) => range(0xa1, 0xfe).flatMap((trail) => [lead, trail]));
  const known = new Set(new TextDecoder('euc-kr').decode(Buffer.from(pairs)));
  return range(0xac00, 0xd7a3)
    .map((code) => String.fromCharCode(code))
    .filter((syllable) => !known.has(syllable));
}

interface Decoder {
  decode(chunk: Buffer): Buffer;
  finish(): void;
}

export class KoreanDecoder {
  readonly #inner: Decoder;
  readonly #syllables = otherSyllables();
  /** The first byte of a pair that the end of the last chunk has cut. */
  #cut: Buffer = Buffer.alloc(0);

  /** @param inner decodes all other characters */
  constructor(inner: Decoder) {
    this.#inner = inner;
  }

  decode(chunk: Buffer): Buffer {
    const bytes = this.#cut.length === 0 ? chunk : Buffer.concat([this.#cut, chunk]);
    const parts: Buffer[] = [];
    let from = 0;
    let at = 0;
    while (at < bytes.length) {
      if (bytes[at]! < 0x80) at++;
      else if (at + 1 === bytes.length) break;
      else {
        const character = addedSigns.get(bytes.readUInt16BE(at)) ?? this.#syllableAt(bytes, at);
        if (character !== undefined) {
          parts.push(this.#inner.decode(bytes.subarray(from, at)), Buffer.from(character));
          from = at + 2;
        } else if (bytes[at]! < 0xa1) this.#inner.decode(noCharacter);
        at += 2;
      }
    }
    this.#cut = Buffer.from(bytes.subarray(at));
    parts.push(this.#inner.decode(bytes.subarray(from, at)));
    return Buffer.concat(parts);
  }

  finish(): void {
    if (this.#cut.length > 0) this.#inner.decode(noCharacter);
    this.#inner.finish();
  }

  #syllableAt(bytes: Buffer, at: number): string | undefined {
    const lead = bytes[at]! - firstLead;
    const trail = trails.indexOf(bytes[at + 1]!);
    if (lead < 0 || trail < 0) return undefined;
    if (lead < leadsBelow) return this.#syllables[lead * trails.length + trail];
    if (trail >= trailsAbove) return undefined;
    return this.#syllables[leadsBelow * trails.length + (lead - leadsBelow) * trailsAbove + trail];
  }
}
