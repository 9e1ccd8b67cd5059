/** `weir explain`: what would become of a request, on the standard output. */
import { readFileSync } from 'node:fs'
import { exitCodeOf } from '#engine/explain/explanation.ts'
import { RequestError } from '#engine/explain/request.ts'
import { show } from '#engine/explain/show.ts'
import { EXIT_USAGE, type GatewayCommand } from './cli.ts'
import type { Loaded } from './control.ts'
import type { ProgramParts } from './program.ts'

export async function explainRequest(
  { request: typed, isJson }: GatewayCommand & { readonly kind: 'explain' },
  { draft, hash, places }: Loaded & { readonly ok: true },
  explain: ProgramParts['explain']
): Promise<void> {
  const { data, cert, ...request } = typed
  const snapshot = { ...draft, version: 1, hash, acceptedAt: new Date().toISOString() }
  try {
    const body = data?.startsWith('@') ? readFileSync(data.slice(1), 'utf8') : data
    const input = { ...request, body, cert: cert === undefined ? null : readFileSync(cert, 'utf8') }
    const explanation = await explain(snapshot, input, { places: places(), buckets: null })
    process.stdout.write(isJson ? `${JSON.stringify(explanation, null, 2)}\n` : show(explanation))
    process.exitCode = exitCodeOf(explanation)
  } catch (error) {
    const isTheirs = error instanceof RequestError || (error as NodeJS.ErrnoException).syscall !== undefined
    if (!isTheirs) throw error
    process.stderr.write(`weir: ${(error as Error).message}\nTry weir explain --help.\n`)
    process.exitCode = EXIT_USAGE
  }
}
