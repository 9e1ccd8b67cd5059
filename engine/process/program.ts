/** What the command line asks for: to run a configuration, to check it, or to explain a request by it. */

import { dirname, resolve } from 'node:path'
import { ConvertedTexts } from '#engine/standalone/converted.ts'
import { explainUnreadable, readConfig } from '#engine/standalone/read.ts'
import { RemoteTexts } from '#engine/standalone/remote.ts'
import { readTexts } from '#engine/standalone/texts.ts'
import { EXIT_CONFIG, EXIT_USAGE, type GatewayCommand, type Source, STDIN } from './cli.ts'
import { type ControlPlaneOptions, type Loaded, load } from './control.ts'
import { type ConfigInput, type ConfigTexts, FileSource, textsOf } from './file-source.ts'
import { Gateway } from './gateway.ts'
import type { ProgramParts } from './parts.ts'
import { leave, plural } from './words.ts'

export async function runGateway(command: GatewayCommand, parts: ProgramParts): Promise<void> {
  const source = await readSource(command.source, parts)
  if (source !== null) await loadAndRun(command, source, parts)
}

async function loadAndRun(command: GatewayCommand, source: ConfigTexts, parts: ProgramParts): Promise<void> {
  const [input] = source.inputs
  const folder = input?.path == null ? process.cwd() : dirname(resolve(input.texts[0]?.name ?? ''))
  const texts = { remote: new RemoteTexts(), converted: new ConvertedTexts(parts.convert) }
  const options = { ...parts, name: source.name, env: process.env, folder, ...texts, log: () => {} }
  const loaded = await load(textsOf(source.inputs), options)
  if (loaded.ok && command.kind === 'explain') {
    const { explainRequest } = await import('./explain-command.ts')
    await explainRequest(command, loaded, parts.explain)
    return
  }
  if (loaded.ok && command.kind === 'prices') {
    const { answerPrices } = await import('./prices-command.ts')
    answerPrices(command.question, loaded.draft, parts, Date.now())
    return
  }
  if (loaded.ok && command.kind === 'run') {
    await gatewayOf(source, loaded, options, parts).start(parts.releaseSignals)
    return
  }
  if (loaded.ok && command.kind === 'proxy') {
    const { proxyOf } = await import('./proxy.ts')
    await proxyOf(command, loaded, parts)?.start(parts.releaseSignals)
    return
  }
  if (loaded.ok && command.kind === 'serve') {
    const { servingController } = await import('./controller-source.ts')
    await servingController(command.settings, loaded.draft.process, parts)?.start(parts.releaseSignals)
    return
  }
  if (loaded.ok) for (const warning of loaded.warnings) process.stderr.write(`warning: ${warning}\n`)
  if (loaded.ok) process.stdout.write(`configuration is valid: ${countOf(loaded)}\n`)
  else {
    const mistakes = plural(loaded.errors.length, 'mistake')
    leave(EXIT_CONFIG, `${loaded.text}\nweir: ${mistakes} in ${source.name}; nothing was started\n`)
  }
}

function gatewayOf(
  source: ConfigTexts,
  loaded: Loaded & { ok: true },
  options: ControlPlaneOptions,
  parts: ProgramParts
): Gateway {
  const { draft, warnings } = loaded
  const settings = { process: draft.process, warnings, mesh: null, isDemo: source.isDefault }
  return new Gateway({ ...settings, source: (own) => new FileSource(source, loaded, options, own) }, parts)
}

/** Null when it cannot be read: the user has been told. */
async function readSource(source: Source, { demo, program }: ProgramParts): Promise<ConfigTexts | null> {
  if (source.kind === 'text') return textAlone('command line', source.text)
  if (source.kind === 'files') return readFiles(source.paths)
  const port = process.env.PORT || '3000'
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    leave(EXIT_USAGE, `weir: PORT must be a whole number from 1 to 65535, not '${port}'\n`)
    return null
  }
  return { ...textAlone('built-in demonstration', await demo(port, program)), isDefault: true }
}

const textAlone = (name: string, text: string): ConfigTexts => ({
  name,
  inputs: [{ path: null, texts: [{ name, text }] }],
  isDefault: false
})

function readFiles(paths: readonly string[]): ConfigTexts | null {
  try {
    const inputs = paths.map(readInput)
    const names = inputs.map(({ path, texts }) => path ?? texts[0]?.name)
    return { name: names.join(', '), inputs, isDefault: false }
  } catch (error) {
    const { path = '' } = error as NodeJS.ErrnoException
    leave(EXIT_CONFIG, `weir: ${explainUnreadable(path, error as NodeJS.ErrnoException)}\n`)
    return null
  }
}

function readInput(path: string): ConfigInput {
  if (path !== STDIN) return { path, texts: readTexts(path) }
  try {
    return { path: null, texts: [{ name: 'stdin', text: readConfig(0) }] }
  } catch (error) {
    throw Object.assign(error as Error, { path: 'standard input' })
  }
}

function countOf({ draft }: Loaded & { ok: true }): string {
  const routes = draft.binds.flatMap(({ listeners }) => listeners.flatMap((listener) => listener.routes))
  const backends = Object.keys(draft.backends)
  return `${plural(draft.binds.length, 'bind')}, ${plural(routes.length, 'route')}, ${plural(backends.length, 'backend')}`
}
