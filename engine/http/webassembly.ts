/** The part of the WebAssembly API used here; @types/node leaves it to the DOM library. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
}

/** A new instance of a module, and what it exports. `Exports` is the caller's knowledge of the module. */
export function instantiate<Exports>(bytes: Uint8Array, imports: Readonly<Record<string, object>>): Exports {
  return new WebAssembly.Instance(new WebAssembly.Module(bytes), imports).exports as Exports
}
