/** llhttp's WebAssembly binary, as undici ships it. scripts/build.ts puts the bytes into the bundle. */
import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

export const binary = load('undici/lib/llhttp/llhttp_simd-wasm.js') as Uint8Array
