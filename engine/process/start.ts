/**
 * What runs first, and only in the main thread: it starts the thread of the first worker, and loads the rest of the
 * program beside it. Both take as long.
 */
import { availableParallelism } from 'node:os'
import { EXIT_OK, type GatewayCommand, readArguments } from './cli.ts'
import { useCompileCache } from './compile-cache.ts'

async function runGateway(command: GatewayCommand): Promise<void> {
  useCompileCache(process.env)
  /** Nothing is served yet: a request to end is granted at once (program.ts listens later). */
  const exitEarly = (): void => process.exit(EXIT_OK)
  process.once('SIGTERM', exitEarly)
  process.once('SIGINT', exitEarly)
  // The file is about to be read.
  const ignoreReload = (): void => {}
  process.on('SIGHUP', ignoreReload)
  const releaseSignals = (): void => {
    process.off('SIGTERM', exitEarly)
    process.off('SIGINT', exitEarly)
    process.off('SIGHUP', ignoreReload)
  }
  const { prepareTransports } = await import('#engine/downstream/transports.ts')
  const { heapMbFor, SpareThread } = await import('#engine/workers/thread.ts')
  prepareTransports()
  const ahead =
    command.kind === 'run' || command.kind === 'proxy' || command.kind === 'serve'
      ? new SpareThread(ENTRY, heapMbFor(availableParallelism()))
      : null
  const { run } = await import('./main.ts')
  await run(command, { entry: ENTRY, program: new URL(import.meta.url), ahead, releaseSignals })
}

/** The module that threads run: beside this one, or beside the bundle that holds it. */
const ENTRY = import.meta.url.endsWith('.ts')
  ? new URL('./main.ts', import.meta.url)
  : new URL('./weir-main.mjs', import.meta.url)

const command = readArguments(process.argv.slice(2))
if ('source' in command) await runGateway(command)
else await (await import('./commands.ts')).runCommand(command)
