/** What the command line asks for: to run a configuration, to check it, or to explain a request by it. */

import { dirname, resolve } from 'node:path'
import { ConvertedTexts } from '#engine/standalone/converted.ts'
import { explainUnreadable, readConfig } from '#engine/standalone/read.ts'
import { RemoteTexts } from '#engine/standalone/remote.ts'
import { EXIT_CONFIG, EXIT_USAGE, type GatewayCommand, type Source } from './cli.ts'
import { type ControlPlaneOptions, type Loaded, load } from './control.ts'
import { type ConfigText, FileSource } from './file-source.ts'
import { Gateway } from './gateway.ts'
import type { ProgramParts } from './parts.ts'
import { leave, plural } from './words.ts'

export async function runGateway(command: GatewayCommand, parts: ProgramParts): Promise<void> {
  const text = await readSource(command.source, parts)
  if (text !== null) await loadAndRun(command, text, parts)
}

async function loadAndRun(command: GatewayCommand, source: ConfigText, parts: ProgramParts): Promise<void> {
  const folder = source.path === null ? process.cwd() : dirname(resolve(source.path))
  const texts = { remote: new RemoteTexts(), converted: new ConvertedTexts(parts.convert) }
  const options = { ...parts, name: source.name, env: process.env, folder, ...texts, log: () => {} }
  const loaded = await load(source.text, options)
  if (loaded.ok && command.kind === 'explain') {
    const { explainRequest } = await import('./explain-command.ts')
    await explainRequest(command, loaded, parts.explain)
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
    const mistakes = plural(loaded.count, 'mistake')
    leave(EXIT_CONFIG, `${loaded.text}\nweir: ${mistakes} in ${source.name}; nothing was started\n`)
  }
}

function gatewayOf(
  source: ConfigText,
  loaded: Loaded & { ok: true },
  options: ControlPlaneOptions,
  parts: ProgramParts
): Gateway {
  const { draft, warnings } = loaded
  const settings = { process: draft.process, warnings, mesh: null, isDemo: source.isDefault }
  return new Gateway({ ...settings, source: (own) => new FileSource(source, loaded, options, own) }, parts)
}

/** Null when it cannot be read: the user has been told. */
async function readSource(source: Source, { demo, program }: ProgramParts): Promise<ConfigText | null> {
  try {
    if (source.kind === 'text') return { name: 'command line', text: source.text, path: null, isDefault: false }
    if (source.kind === 'stdin') return { name: 'stdin', text: readConfig(0), path: null, isDefault: false }
    if (source.kind === 'file') {
      return { name: source.path, text: readConfig(source.path), path: source.path, isDefault: false }
    }
  } catch (error) {
    const name = source.kind === 'file' ? source.path : 'standard input'
    leave(EXIT_CONFIG, `weir: ${explainUnreadable(name, error as NodeJS.ErrnoException)}\n`)
    return null
  }
  const port = process.env.PORT || '3000'
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    leave(EXIT_USAGE, `weir: PORT must be a whole number from 1 to 65535, not '${port}'\n`)
    return null
  }
  const text = await demo(port, program)
  return { name: 'built-in demonstration', text, path: null, isDefault: true }
}

function countOf({ draft }: Loaded & { ok: true }): string {
  const routes = draft.binds.flatMap(({ listeners }) => listeners.flatMap((listener) => listener.routes))
  const backends = Object.keys(draft.backends)
  return `${plural(draft.binds.length, 'bind')}, ${plural(routes.length, 'route')}, ${plural(backends.length, 'backend')}`
}
