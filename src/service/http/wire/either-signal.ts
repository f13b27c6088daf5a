/**
 * Combines two signals. It is used instead of `AbortSignal.any`, which removes its listeners only when the garbage collector runs.
 *
 * @param first the signal that lives longer than the work. `release` removes the listener from it
 */
export function eitherSignal(
  first: AbortSignal,
  second: AbortSignal,
): { signal: AbortSignal; release: () => void } {
  const either = new AbortController();
  const abortBy = (signal: AbortSignal) => () => either.abort(signal.reason);
  const onFirst = abortBy(first);
  if (first.aborted) onFirst();
  first.addEventListener('abort', onFirst, { once: true });
  if (second.aborted) either.abort(second.reason);
  second.addEventListener('abort', abortBy(second), { once: true });
  return { signal: either.signal, release: () => first.removeEventListener('abort', onFirst) };
}
