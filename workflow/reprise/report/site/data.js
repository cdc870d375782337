"use strict";

/* Data files are classic scripts that call `reprise.put`, because a page opened from disk may load scripts but not fetch files. */
const reprise = (() => {
  const values = new Map();
  const loading = new Map();

  /** Store a value; data files call this. */
  function put(name, value) {
    values.set(name, value);
  }

  /** Return the content of a data file; each file is loaded once. */
  function load(name) {
    if (!loading.has(name)) {
      loading.set(name, new Promise((resolve, reject) => request(name, resolve, reject)));
    }
    return loading.get(name);
  }

  /** Load a script of the report, such as the library of the list. */
  function loadScript(address) {
    return new Promise((resolve, reject) => append(address, resolve, reject));
  }

  /** Return an entry of one of a benchmark's lists, which are stored in chunks. */
  async function entry(benchmark, kind, index) {
    const { chunk } = await load("catalog");
    return (await load(`${benchmark.name}/${kind}/${Math.floor(index / chunk)}`))[index % chunk];
  }

  function request(name, resolve, reject) {
    const address = `data/${name.split("/").map(encodeURIComponent).join("/")}.js`;
    const fail = (error) => {
      loading.delete(name);
      reject(error);
    };
    append(address, () => (values.has(name) ? resolve(values.get(name)) : fail(missing(address))), fail);
  }

  function append(address, onLoad, onError) {
    const script = document.createElement("script");
    script.src = address;
    script.onload = onLoad;
    script.onerror = () => onError(missing(address));
    document.head.append(script);
  }

  function missing(address) {
    return new Error(`${address} is missing or damaged. Build the report again with: snakemake report`);
  }

  return { put, load, loadScript, entry };
})();
