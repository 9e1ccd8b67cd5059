/** The official conformance suite of the Gateway API, and the server that it has behind the gateways. */
import { join } from 'node:path'
import { GoModule } from './go-module.ts'

export interface SuitePrograms {
  /** The tests of the package "conformance", as a program. */
  readonly suite: string
  /** HTTP, gRPC, TLS and TCP, by its environment. */
  readonly echo: string
}

/** Paths of the programs. Throws an Error that says what is missing. */
export function suitePrograms(): SuitePrograms {
  const module = new GoModule(join(import.meta.dirname, 'gateway-api', 'suite'), 'gateway-api')
  return {
    suite: module.program('conformance', ['test', '-c'], 'sigs.k8s.io/gateway-api/conformance'),
    echo: module.program('echo-basic', ['build'], 'sigs.k8s.io/gateway-api/conformance/echo-basic')
  }
}
