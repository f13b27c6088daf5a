/** The package has types of its other face only. */
declare module 'libpg-query/wasm/libpg-query.js' {
  const create: () => Promise<unknown>;
  export default create;
}
