"use strict";

/* Data files are classic scripts that call `reprise.put`: a page that is opened from a file may load these, but fetch nothing. */
const reprise = (() => {
  const values = new Map();
  const loading = new Map();

  /** Called by a data file. */
  function put(name, value) {
    values.set(name, value);
  }

  /** What the data file of this name holds; each is loaded once. */
  function load(name) {
    if (!loading.has(name)) {
      loading.set(name, new Promise((resolve, reject) => request(name, resolve, reject)));
    }
    return loading.get(name);
  }

  /** Run a file of the report's own, such as the grid's library. */
  function run(address) {
    return new Promise((resolve, reject) => append(address, resolve, reject));
  }

  /** An entry of a benchmark's list that is in pieces. */
  async function entry(benchmark, kind, place) {
    const { chunk } = await load("catalog");
    return (await load(`${benchmark.name}/${kind}/${Math.floor(place / chunk)}`))[place % chunk];
  }

  function request(name, resolve, reject) {
    const address = `data/${name.split("/").map(encodeURIComponent).join("/")}.js`;
    const fail = (error) => {
      loading.delete(name);
      reject(error);
    };
    append(address, () => (values.has(name) ? resolve(values.get(name)) : fail(missing(address))), fail);
  }

  function append(address, loaded, failed) {
    const script = document.createElement("script");
    script.src = address;
    script.onload = loaded;
    script.onerror = () => failed(missing(address));
    document.head.append(script);
  }

  function missing(address) {
    return new Error(`${address} is missing or damaged. Build the report again: snakemake report`);
  }

  return { put, load, run, entry };
})();
