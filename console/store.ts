/** Holds the state of the page, and draws the page again after each change. */
import type { State } from './state.ts';

type Change = Partial<State>;

export interface Store {
  readonly state: State;
  /** Replaces parts of the state. */
  set(change: Change | ((state: State) => Change)): void;
}

export function createStore(first: State, draw: (state: State) => void): Store {
  let state = first;
  let isDrawing = false;
  return {
    get state() {
      return state;
    },
    set(change) {
      state = { ...state, ...(typeof change === 'function' ? change(state) : change) };
      if (isDrawing) return;
      isDrawing = true;
      // Several changes in one task are drawn together.
      queueMicrotask(() => {
        isDrawing = false;
        draw(state);
      });
    },
  };
}
