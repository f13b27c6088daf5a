/** Keeps what the page knows, and draws the page again after each change. */
import type { State } from './state.ts';

export interface Store {
  readonly state: State;
  update(change: (state: State) => State): void;
}

export function createStore(first: State, draw: (state: State) => void): Store {
  let state = first;
  let isDrawing = false;
  return {
    get state() {
      return state;
    },
    update(change) {
      state = change(state);
      if (isDrawing) return;
      isDrawing = true;
      // Several changes in a row are drawn once.
      queueMicrotask(() => {
        isDrawing = false;
        draw(state);
      });
    },
  };
}
