/** Waits for a state instead of a time, so that a test is right on a machine of any speed. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** The time after which a test fails. It is far longer than any state takes, even on a busy machine. */
const deadlineMs = 60_000;

/**
 * Waits until a state is reached.
 *
 * @param what the state, which completes the message "waited too long for …"
 */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + deadlineMs;
  while (!(await holds())) {
    assert.ok(performance.now() < giveUpAt, `waited too long for ${what}`);
    await sleep(5);
  }
}
