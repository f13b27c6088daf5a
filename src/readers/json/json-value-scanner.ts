/** Checks one JSON value of any kind (RFC 8259) and finds its end, without recursion. It can stop and continue at any byte. */

import { EscapeReader, MORE } from './json-escape.ts';
import { JsonFault, type Limit, LimitFault } from './json-fault.ts';
import { faultPosition, heldState, isWholeNumber, NUMBER_START, scanNumber } from './json-number.ts';
import type { LineCounter } from './line-counter.ts';
import { controlCharacter } from './string-unescaper.ts';

const VALUE = 0;
const FIRST_ELEMENT = 1;
const FIRST_KEY = 2;
const KEY = 3;
const COLON = 4;
const AFTER_VALUE = 5;
const IN_STRING = 6;
const IN_ESCAPE = 7;
const IN_NUMBER = 8;
const IN_LITERAL = 9;

const IN_ARRAY = 0;
const IN_OBJECT = 1;

const LITERALS = new Map([
  [0x6e, Buffer.from('null')],
  [0x74, Buffer.from('true')],
  [0x66, Buffer.from('false')],
]);

export class JsonValueScanner {
  readonly #limit: Limit;
  readonly #lines: LineCounter;
  readonly #containers: Uint8Array;
  readonly #escape = new EscapeReader();
  #state = VALUE;
  #depth = 0;
  #isKey = false;
  #numberState = NUMBER_START;
  #literal = Buffer.alloc(0);
  #matched = 0;

  constructor(maxDepth: number, lines: LineCounter) {
    this.#lines = lines;
    this.#limit = { setting: 'MAX_JSON_DEPTH', value: maxDepth, unit: 'levels' };
    this.#containers = new Uint8Array(maxDepth);
  }

  /** Call this before each value. The first byte of the value must not be white space. */
  begin(): void {
    this.#state = VALUE;
    this.#depth = 0;
    this.#isKey = false;
  }

  /**
   * Scans the bytes of a value.
   *
   * @returns the position after the value; -1: the chunk ended first, so call this with the next chunk. Only the byte after a
   * number shows that the number has ended
   * @throws JsonFault, LimitFault
   */
  scan(chunk: Buffer, start: number, end: number): number {
    let state = this.#state;
    let depth = this.#depth;
    let isKey = this.#isKey;
    const containers = this.#containers;
    let i = start;
    while (i < end) {
      const byte = chunk[i]!;
      switch (state) {
        case IN_STRING: {
          let inner = byte;
          while (inner !== 0x22 && inner !== 0x5c && inner >= 0x20) {
            if (++i === end) break;
            inner = chunk[i]!;
          }
          if (i === end) continue;
          if (inner === 0x5c) {
            this.#escape.begin();
            state = IN_ESCAPE;
          } else if (inner === 0x22) {
            state = isKey ? COLON : AFTER_VALUE;
          } else {
            throw controlCharacter(i);
          }
          i++;
          break;
        }
        case IN_ESCAPE:
          if (this.#escape.next(byte, i) !== MORE) state = IN_STRING;
          i++;
          continue;
        case IN_NUMBER: {
          const after = scanNumber(chunk, i, end, this.#numberState);
          if (after < 0) {
            this.#numberState = heldState(after);
            if (this.#numberState < 0) throw numberFault(faultPosition(after));
            i = end;
            continue;
          }
          i = after;
          state = AFTER_VALUE;
          break;
        }
        case IN_LITERAL:
          if (byte !== this.#literal[this.#matched]) {
            throw new JsonFault(
              i,
              `"${String.fromCharCode(this.#literal[this.#matched]!)}" of ${this.#literal}`,
            );
          }
          i++;
          if (++this.#matched < this.#literal.length) continue;
          state = AFTER_VALUE;
          break;
        default: {
          if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
            if (byte === 0x0a) this.#lines.newlineInside(i);
            i++;
            continue;
          }
          switch (state) {
            case KEY:
            case FIRST_KEY:
              if (byte === 0x7d && state === FIRST_KEY) {
                depth--;
                state = AFTER_VALUE;
                break;
              }
              if (byte !== 0x22)
                throw new JsonFault(i, state === KEY ? 'a key in quotes' : 'a key in quotes or "}"');
              isKey = true;
              state = IN_STRING;
              break;
            case COLON:
              if (byte !== 0x3a) throw new JsonFault(i, '":" after the key');
              isKey = false;
              state = VALUE;
              break;
            case AFTER_VALUE:
              if (containers[depth - 1] === IN_OBJECT) {
                if (byte === 0x2c) state = KEY;
                else if (byte === 0x7d) depth--;
                else throw new JsonFault(i, '"," or "}" after the value');
              } else if (byte === 0x2c) {
                state = VALUE;
              } else if (byte === 0x5d) {
                depth--;
              } else {
                throw new JsonFault(i, '"," or "]" after the value');
              }
              break;
            default:
              if (byte === 0x5d && state === FIRST_ELEMENT) {
                depth--;
                state = AFTER_VALUE;
              } else if (byte === 0x22) {
                isKey = false;
                state = IN_STRING;
              } else if (byte === 0x7b || byte === 0x5b) {
                if (depth === this.#limit.value)
                  throw new LimitFault('The value is nested too deeply', this.#limit);
                containers[depth++] = byte === 0x7b ? IN_OBJECT : IN_ARRAY;
                state = byte === 0x7b ? FIRST_KEY : FIRST_ELEMENT;
              } else if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
                this.#numberState = NUMBER_START;
                state = IN_NUMBER;
                continue;
              } else {
                this.#beginLiteral(byte, i);
                state = IN_LITERAL;
                continue;
              }
          }
          i++;
        }
      }
      if (depth === 0 && state === AFTER_VALUE) return i;
    }
    this.#state = state;
    this.#depth = depth;
    this.#isKey = isKey;
    return -1;
  }

  /** Returns whether the value is complete if the document ends here. This is so only for a number that is not nested. */
  isComplete(): boolean {
    return this.#depth === 0 && this.#state === IN_NUMBER && isWholeNumber(this.#numberState);
  }

  #beginLiteral(byte: number, position: number): void {
    const literal = LITERALS.get(byte);
    if (literal === undefined) throw new JsonFault(position, 'a value');
    this.#literal = literal;
    this.#matched = 0;
  }
}

function numberFault(position: number): JsonFault {
  return new JsonFault(position, 'a digit in the number');
}
