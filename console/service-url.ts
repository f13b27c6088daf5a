/** The address of the service without a slash at its end. The console is at its root, which a proxy may offer below a path. */
export const serviceUrl = new URL('.', location.href).href.replace(/\/$/, '');
