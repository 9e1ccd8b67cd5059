/** The official conformance suite of the Gateway API Inference Extension, its pickers, and its CRDs. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GoModule } from './go-module.ts'

const EXTENSION = 'sigs.k8s.io/gateway-api-inference-extension'
const FOLDER = join(import.meta.dirname, 'inference-pool')
const SUITE = join(FOLDER, 'suite')

/** As go.mod of the suite has it. */
export const EXTENSION_VERSION =
  new RegExp(`${EXTENSION} (v\\S+)`).exec(readFileSync(join(SUITE, 'go.mod'), 'utf8'))?.[1] ?? ''

export interface InferencePoolPrograms {
  /** The tests of the package "conformance", as a program. */
  readonly suite: string
  /** The picker of the suite, which does what a request tells it. */
  readonly picker: string
}

/** Paths of the programs. Throws an Error that says what is missing. */
export function inferencePoolPrograms(): InferencePoolPrograms {
  const module = new GoModule(SUITE, 'inference-pool')
  return {
    suite: module.program('conformance', ['test', '-c'], `${EXTENSION}/conformance`),
    picker: module.program('lwepp', ['build'], `${EXTENSION}/cmd/lwepp`)
  }
}

/** Texts of the CRDs. */
export function inferencePoolCrds(): readonly string[] {
  const module = new GoModule(SUITE, 'inference-pool')
  const answer = module.run(['list', '-m', '-json', EXTENSION])
  const { Dir: folder } = JSON.parse(answer) as { readonly Dir: string }
  const crds = join(folder, 'config', 'crd', 'bases')
  return readdirSync(crds).map((name) => readFileSync(join(crds, name), 'utf8'))
}
