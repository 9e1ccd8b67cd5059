/** Commands that run no gateway. Most need none of its modules. */
import { serveMcp } from '#backends/demo/mcp-servers/index.ts'
import { VERSION } from '#engine/contract/version.ts'
import { CEL_HELP } from './cel/options.ts'
import { type Command, EXIT_USAGE, type GatewayCommand, HELP, type Helped } from './cli.ts'
import { CONTROLLER_HELP } from './controller-options.ts'
import { EXPLAIN_HELP } from './explain-options.ts'
import { INIT_HELP } from './init/options.ts'
import { PRICES_HELP } from './prices-options.ts'
import { PROXY_HELP } from './proxy-options.ts'

const PAGES: { readonly [name in Helped]: string } = {
  init: INIT_HELP,
  cel: CEL_HELP,
  explain: EXPLAIN_HELP,
  proxy: PROXY_HELP,
  controller: CONTROLLER_HELP,
  prices: PRICES_HELP
}

export async function runCommand(command: Exclude<Command, GatewayCommand>): Promise<void> {
  switch (command.kind) {
    case 'help':
      print(command.of === undefined ? HELP : PAGES[command.of])
      return
    case 'init':
      await (await import('./main.ts')).writeFirstFile(command.question)
      return
    case 'cel':
      ;(await import('./cel/command.ts')).runCel(command.question)
      return
    case 'controller':
      await (await import('./main.ts')).controller(command.settings)
      return
    case 'version':
      print(`weir ${VERSION}\n`)
      return
    case 'schema':
      print(await (await import('./main.ts')).schemaText())
      return
    case 'import':
      await (await import('./main.ts')).importFile(command)
      return
    case 'completion':
      print((await import('./completion.ts')).completion(command.shell))
      return
    case 'usage':
      fail(`${command.message}\nTry ${command.help}.`)
      return
    case 'mcp-server':
      if (await serveMcp(command.name, VERSION, process.stdin, process.stdout)) return
      fail(`there is no MCP server '${command.name}': clock, notebook`)
  }
}

/** A reader that leaves after the first lines (`weir schema | head`) is no error. */
function print(text: string): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  process.stdout.write(text)
}

function fail(message: string): void {
  process.stderr.write(`weir: ${message}\n`)
  process.exitCode = EXIT_USAGE
}
