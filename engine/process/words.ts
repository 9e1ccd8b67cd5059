/** What the command line says. */

export function leave(code: number, message: string): void {
  process.stderr.write(message)
  process.exitCode = code
}

export function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
