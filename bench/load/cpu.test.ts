import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { cpuNs, processTree, rssBytes, usageOf } from './cpu.ts'

test('CPU time counts what this process burns', () => {
  const before = cpuNs(process.pid)
  const usage = process.cpuUsage()
  let spent = 0
  while (spent < 50_000) {
    const { user, system } = process.cpuUsage(usage)
    spent = user + system
  }
  const burnt = (cpuNs(process.pid) - before) / 1000
  // The account of a running thread is up to one scheduler tick (10 ms at most) old.
  assert.ok(burnt > 35_000, `${burnt} us`)
})

test('memory is what the kernel says, and a process that is gone is an error', () => {
  const bytes = rssBytes(process.pid)
  assert.ok(Math.abs(bytes - process.memoryUsage.rss()) < 32 * 1024 * 1024)
  assert.equal(usageOf([]).rssBytes, 0)
  assert.throws(() => rssBytes(2 ** 30), /ENOENT/)
})

test('children of children belong to the tree', async () => {
  const child = spawn('sh', ['-c', 'sleep 60 & echo started; wait'], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  const tree = processTree(process.pid)
  assert.equal(tree[0], process.pid)
  const below = processTree(child.pid!)
  assert.equal(below.length, 2)
  for (const pid of below) assert.ok(tree.includes(pid))
  for (const pid of below) process.kill(pid, 'SIGKILL')
  await once(child, 'exit')
})
