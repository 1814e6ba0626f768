/** Addresses of the console: `#/page/detail?query`. The hub sees none of it. */

/** @typedef {{page: string, detail: string, query: URLSearchParams}} Route */

/** @param {string} hash @returns {Route} */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", ...rest] = path.split("/");
  let detail = "";
  try {
    detail = decodeURIComponent(rest.join("/"));
  } catch {
    // An address nobody made here: as if it named nothing.
  }
  return { page: page || "chat", detail, query: new URLSearchParams(query) };
}

/** @param {string} page @param {string} [detail] @param {Object<string, string>} [query] */
export function link(page, detail = "", query = {}) {
  const words = new URLSearchParams(Object.entries(query).filter(([, value]) => value)).toString();
  return `#/${page}${detail ? `/${encodeURIComponent(detail)}` : ""}${words ? `?${words}` : ""}`;
}

/** @param {string} hash @param {{replace?: boolean}} [options] */
export function navigate(hash, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
