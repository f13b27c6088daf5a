/** Reads and writes JSON Pointers (RFC 6901). */

/** Returns `/name` with the name escaped. */
export function pointerTo(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

export function pointerOf(steps: readonly string[]): string {
  return steps.map(pointerTo).join('');
}

/**
 * Parses a JSON Pointer (RFC 6901).
 *
 * @returns the steps, unescaped; undefined: the text is not a JSON Pointer
 */
export function parsePointer(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  const steps = pointer.slice(1).split('/');
  // The order matters: `~01` must become `~1` (section 4).
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Returns whether the step names an element of an array (section 4). */
export function isArrayIndex(step: string): boolean {
  return /^(0|[1-9]\d{0,15})$/.test(step);
}
