/** `weir explain`: what would become of a request, on the standard output. */
import { readFileSync } from 'node:fs'
import { exitCodeOf } from '#engine/explain/explanation.ts'
import { RequestError } from '#engine/explain/request.ts'
import { show } from '#engine/explain/show.ts'
import { EXIT_USAGE, type GatewayCommand } from './cli.ts'
import type { Loaded } from './control.ts'
import type { ProgramParts } from './parts.ts'

export async function explainRequest(
  { request: typed, isJson }: GatewayCommand & { readonly kind: 'explain' },
  { draft, hash, places, hosts = {} }: Loaded & { readonly ok: true },
  explain: ProgramParts['explain']
): Promise<void> {
  const { data, cert, ...request } = typed
  const snapshot = { ...draft, version: 1, hash, acceptedAt: new Date().toISOString() }
  try {
    const body = data?.startsWith('@') ? textOf('-d', data.slice(1)) : data
    const input = { ...request, body, cert: cert === undefined ? null : textOf('--cert', cert) }
    const explanation = await explain(snapshot, input, {
      ...{ places: places(), buckets: null, hosts, madeKeys: [], budgets: null, hasServer: false }
    })
    process.stdout.write(isJson ? `${JSON.stringify(explanation, null, 2)}\n` : show(explanation))
    process.exitCode = exitCodeOf(explanation)
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    process.stderr.write(`weir: ${error.message}\nTry weir explain --help.\n`)
    process.exitCode = EXIT_USAGE
  }
}

/** Throws a RequestError that names the option. */
function textOf(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new RequestError(`${option}: cannot read the file: ${(error as Error).message}`)
  }
}
