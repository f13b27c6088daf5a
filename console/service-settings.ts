/** The settings that the service writes into the page. */
import type { SignInSettings } from './state.ts';

const written = document.querySelector<HTMLMetaElement>('meta[name=tablewright]')?.content;

export const serviceSettings = JSON.parse(written ?? '{"signIn":null,"scopeClaims":[]}') as {
  signIn: SignInSettings | null;
  /** The claims of tokens that contain the scopes. The first one that a token has counts. */
  scopeClaims: string[];
};
