/** Commands that run no gateway: they need none of its modules. */
import { serveMcp } from '#backends/demo/mcp-servers/index.ts'
import { VERSION } from '#engine/contract/version.ts'
import { type Command, EXIT_USAGE, type GatewayCommand, HELP } from './cli.ts'

export async function runCommand(command: Exclude<Command, GatewayCommand>): Promise<void> {
  switch (command.kind) {
    case 'help':
      process.stdout.write(HELP)
      return
    case 'version':
      process.stdout.write(`weir ${VERSION}\n`)
      return
    case 'usage':
      fail(`${command.message}\nTry weir --help.`)
      return
    case 'mcp-server':
      if (await serveMcp(command.name, VERSION, process.stdin, process.stdout)) return
      fail(`there is no MCP server '${command.name}': clock, notebook`)
  }
}

function fail(message: string): void {
  process.stderr.write(`weir: ${message}\n`)
  process.exitCode = EXIT_USAGE
}
