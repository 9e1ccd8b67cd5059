import { equal, match } from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { Flow } from './flow.ts'

export const spendFlows: readonly Flow[] = [
  {
    page: 'spend',
    does: 'shows what keys cost, then one of them by model, and gives it as CSV',
    run: async (page) => {
      await page.getByRole('img', { name: /^Cost by key, from .*alice: \$/ }).waitFor()
      await page.locator('canvas').waitFor()
      await page.getByRole('button', { name: 'bob' }).click()
      await page.waitForURL('**/ui/spend?key=bob')
      await page.getByLabel('By', { exact: true }).selectOption('model')
      await page.getByRole('button', { name: 'claude-sonnet-4-5' }).waitFor()
      equal(await page.getByRole('button', { name: /gpt/ }).count(), 0)
      const download = page.waitForEvent('download')
      await page.getByRole('link', { name: 'CSV' }).click()
      const text = await readFile(await (await download).path(), 'utf8')
      match(text, /^model,hour,.*\n.*claude-sonnet-4-5/s)
      await page.getByLabel('Time').selectOption('30d')
      await page.getByRole('heading', { name: 'Cost by model, each day' }).waitFor()
      await page.getByRole('button', { name: /^key: bob/ }).click()
      await page.getByRole('button', { name: /gpt/ }).waitFor()
    }
  }
]
