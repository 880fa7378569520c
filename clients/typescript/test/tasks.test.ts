import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidArgument, TaskEnded, TaskNotFound, VersionConflict, newId } from "contextkeep";

import { context } from "./stack.js";

test("a task is begun, talked about, asked back, and ended", async () => {
  const { contextId } = await context.sendMessage("Hello");

  const task = await context.createTask(contextId, { metadata: { n: 2n ** 60n } });
  const sent = await context.sendMessage({ content: "About it", taskId: task.taskId });
  const asked = await context.updateTask(task.taskId, { state: "input_required", statusMessage: "Which?" });
  const { task: read, messages } = await context.getTask(task.taskId);

  assert.deepEqual([task.contextId, task.state, task.version, task.metadata], [contextId, "submitted", 1, { n: 2n ** 60n }]);
  assert.deepEqual([sent.contextId, sent.seq], [contextId, 2]);
  assert.deepEqual([asked.state, asked.statusMessage?.role, asked.statusMessage?.content], ["input_required", "assistant", "Which?"]);
  assert.deepEqual(read, asked);
  assert.deepEqual(messages.map(({ content, taskId }) => [content, taskId]), [["About it", task.taskId]]);

  const ended = await context.cancelTask(task.taskId);
  assert.deepEqual([ended.state, ended.statusMessage, await context.cancelTask(task.taskId)], ["canceled", undefined, ended]);
  await assert.rejects(context.sendMessage({ content: "More", taskId: task.taskId }), TaskEnded);
});

test("what goes on with a task refers to it, and tasks are listed", async () => {
  const { contextId } = await context.sendMessage("Hello");
  const first = await context.createTask(contextId, { state: "completed" });

  const second = await context.createTask(contextId, { referenceTaskIds: [first.taskId] });
  const { messageId } = await context.sendMessage({ content: "x", taskId: second.taskId, referenceTaskIds: [first.taskId] });

  assert.deepEqual(second.referenceTaskIds, [first.taskId]);
  assert.deepEqual((await context.getMessage(contextId, messageId)).referenceTaskIds, [first.taskId]);
  assert.deepEqual(await context.listTasks(contextId, { pageSize: 1 }), [second, first]);
  assert.deepEqual(await context.listTasks(contextId, { states: ["completed"] }), [first]);
});

test("what cannot be is refused", async () => {
  const { contextId } = await context.sendMessage("Hello");
  const task = await context.createTask(contextId);

  await assert.rejects(context.getTask(newId()), TaskNotFound);
  await assert.rejects(context.updateTask(task.taskId, { state: "working", expectedVersion: 7 }), VersionConflict);
  await assert.rejects(context.updateTask(task.taskId, {}), InvalidArgument);
  await assert.rejects(context.updateTask(task.taskId, { statusMessage: "alone" }), InvalidArgument);
  await assert.rejects(context.createTask(contextId, { state: "paused" as "working" }), InvalidArgument);
});
