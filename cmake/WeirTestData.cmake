# SPDX-License-Identifier: Apache-2.0
#
# What tests against other runtimes need: a Python with numpy, OpenCV and onnxruntime, trained models and photos. Each
# is a cache variable; its default is the environment variable of the same name, then the set-up's place in the tree.
#
#   WEIR_PYTHON       the interpreter; tests whose Python packages are absent are skipped and say which
#   WEIR_TEST_MODELS  folder of the .onnx files
#   WEIR_TEST_PHOTOS  folder of the .png and .jpg files
#   WEIR_MODEL_GRAPHS folder of fill.py and graphs/*.onnx: architectures to fill with weights; may be absent
function(weir_test_data variable description)
  set(default $ENV{${variable}})
  foreach(candidate ${ARGN})
    if(NOT default AND EXISTS ${candidate})
      set(default ${candidate})
    endif()
  endforeach()
  set(${variable} "${default}" CACHE PATH ${description})
endfunction()

find_program(WEIR_SYSTEM_PYTHON python3)
mark_as_advanced(WEIR_SYSTEM_PYTHON)
weir_test_data(WEIR_PYTHON "Python with numpy, OpenCV and onnxruntime" ${CMAKE_SOURCE_DIR}/.venv/bin/python
               ${WEIR_SYSTEM_PYTHON})
weir_test_data(WEIR_TEST_MODELS "Folder of trained models" ${CMAKE_SOURCE_DIR}/.cache/models)
weir_test_data(WEIR_TEST_PHOTOS "Folder of photos" ${CMAKE_SOURCE_DIR}/.cache/photos)
weir_test_data(WEIR_MODEL_GRAPHS "Folder of architectures without weights" ${CMAKE_SOURCE_DIR}/../shared/models)
set(WEIR_FILLED_MODELS ${CMAKE_BINARY_DIR}/filled-models)  # made by the test fill_models
