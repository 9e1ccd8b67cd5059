import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { start } from './processes.ts'

const NODE = process.execPath

/** An orphan that has ended may stay listed as a zombie until init asks for its exit code. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    // No such file: no such process.
    return false
  }
}

test('a program is started, heard and stopped', async () => {
  const script = "console.log('ready'); setInterval(() => {}, 1000)"
  const running = await start({ program: NODE, args: ['-e', script] }, null)
  assert.equal(await running.firstLine(), 'ready')
  assert.equal(running.alive(), true)
  await running.stop()
  assert.equal(running.alive(), false)
  assert.equal(existsSync(`/proc/${running.pid}`), false)
})

test('a program that fails tells why', async () => {
  const running = await start({ program: NODE, args: ['-e', "console.error('no such thing'); process.exit(3)"] }, null)
  await assert.rejects(running.firstLine(), /ended without a word\nno such thing/)
  await assert.rejects(start({ program: '/nowhere/program', args: [] }, null), /ENOENT/)
})

test('programs end with the bench, also when it is interrupted or fails', async () => {
  const url = new URL('./processes.ts', import.meta.url).href
  const ends = ["process.kill(process.pid, 'SIGINT')", "throw new Error('broken')", 'process.exit(0)']
  for (const end of ends) {
    const script = `
      import { start } from '${url}'
      process.on('SIGINT', () => process.exit(130))
      const script = 'console.log(1); setInterval(() => {}, 1000)'
      const child = await start({ program: process.execPath, args: ['-e', script] }, null)
      await child.firstLine()
      console.log(child.pid)
      ${end}
      await new Promise(() => {})`
    const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]
    const { stdout } = spawnSync(NODE, flags, { encoding: 'utf8' })
    const pid = Number(stdout)
    assert.ok(pid > 0, stdout)
    // SIGKILL has been sent when the bench is gone; the kernel may still be carrying it out.
    const deadline = performance.now() + 5_000
    while (isRunning(pid) && performance.now() < deadline) await new Promise(setImmediate)
    assert.equal(isRunning(pid), false, `alive after: ${end}`)
  }
})
