/** Finds the arrays of objects in a document, as candidates for `rows_at`. */

import { pointerTo } from '../../core/json-pointer.ts';
import { type DocumentPlan, SKIP, WALK } from './document-plan.ts';
import { JsonDocumentScanner } from './json-document-scanner.ts';
import type { JsonLimits } from './json-limits.ts';

export interface FoundArray {
  /** The JSON Pointer of the array. */
  rowsAt: string;
  /** The number of its elements. */
  rows: number;
}

/** The maximum number of arrays that are kept. If there are more, those with the most rows are kept. */
const maxArrays = 100;

/** The maximum length of a pointer. Arrays with a longer one are left out, because it is too long for a URL. */
const maxPointerLength = 1000;

/** Scans a whole document; give it all chunks and call `end`. */
export class ArrayFinder extends JsonDocumentScanner {
  readonly #plan: FindingPlan;

  constructor(limits: JsonLimits) {
    const plan = new FindingPlan(limits.maxDepth);
    super(limits, { expected: 'a document that holds rows', otherFormat: '' }, plan);
    this.#plan = plan;
  }

  /** Returns the arrays, the one with the most rows first. */
  get arrays(): FoundArray[] {
    return this.#plan.arrays.toSorted((a, b) => b.rows - a.rows || a.rowsAt.length - b.rowsAt.length);
  }
}

interface Walked {
  isArray: boolean;
  /** The key or the number of the current value. */
  step: string;
  index: number;
  objects: number;
}

/** Walks every object, but only the first element of each array. Otherwise an array inside each row would be found once for each row. */
class FindingPlan implements DocumentPlan {
  readonly rowsAt = '';
  readonly arrays: FoundArray[] = [];
  readonly #maxDepth: number;
  readonly #walked: Walked[] = [];

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  enter(firstByte: number): number {
    const isObject = firstByte === 0x7b;
    const parent = this.#walked.at(-1);
    if (parent?.isArray) {
      if (isObject) parent.objects++;
      if (parent.index > 0) return SKIP;
    }
    if ((!isObject && firstByte !== 0x5b) || this.#walked.length === this.#maxDepth) return SKIP;
    this.#walked.push({ isArray: !isObject, step: '', index: 0, objects: 0 });
    return WALK;
  }

  key(name: string): void {
    this.#walked.at(-1)!.step = name;
  }

  element(index: number): void {
    const array = this.#walked.at(-1)!;
    array.step = String(index);
    array.index = index;
  }

  leave(count: number): void {
    const { isArray, objects } = this.#walked.pop()!;
    // Some elements may be something else by mistake, so more than half of them must be objects.
    if (!isArray || objects * 2 <= count) return;
    const rowsAt = this.#walked.map(({ step }) => pointerTo(step)).join('');
    if (rowsAt.length > maxPointerLength) return;
    this.arrays.push({ rowsAt, rows: count });
    if (this.arrays.length <= maxArrays) return;
    const fewest = this.arrays.reduce(
      (least, { rows }, index) => (rows < this.arrays[least]!.rows ? index : least),
      0,
    );
    this.arrays.splice(fewest, 1);
  }

  ended(): void {}

  rowsEnded(): void {}

  finish(): void {}
}
