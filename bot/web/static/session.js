/** The secret that proves who is logged in here. Only pages of this origin can read it, and every request names it
 * in a header: cookies, which every port of this machine can read and set, prove nothing. */

export const NAME = "hubbub-session";

/** Where a browser keeps nothing: as long as this page lives. */
let unkept = "";

/** Asked for at every request: another tab may have logged in again. */
export function secret() {
  try {
    return localStorage.getItem(NAME) ?? unkept;
  } catch {
    return unkept;
  }
}

/** @param {string} given "" ends it */
export function keep(given) {
  unkept = given;
  try {
    if (given) localStorage.setItem(NAME, given);
    else localStorage.removeItem(NAME);
  } catch {
    // It is kept above.
  }
}

/** The header that every request to the hub carries. @param {string} [held] @returns {Object<string, string>} */
export const proof = (held = secret()) => (held ? { "X-Hubbub-Session": held } : {});

/** Cookies that other ports of this machine set are not even sent; a proxy in front of a public hub may need its own. */
export const CREDENTIALS = location.protocol === "https:" ? "same-origin" : "omit";
